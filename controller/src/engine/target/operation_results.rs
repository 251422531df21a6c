//! Running decisions: each result of an operation leads to the next operation, to a pause, or to the end.

use std::sync::Arc;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use super::Target;
use crate::engine::corrections::Correction;
use crate::engine::decide::facts::TargetFacts;
use crate::engine::effect::{Effect, Report};
use crate::engine::execution::{Destinations, Event, ExecutionEnd, Interrupt, News, Probes, ProgramView, Step};
use crate::engine::now::Now;
use crate::engine::objects::object_store::{Handover, ObjectStore};
use crate::engine::rendering::{Requests, Unrenderable, requests};
use crate::engine::shared_state::SharedState;

/// Access of the executions of a target to its program.
pub(super) struct TargetView<'a, P> {
    pub(super) text: &'a Arc<drift_language::Target>,
    pub(super) program: &'a P,
}

impl<P: SharedState> ProgramView for TargetView<'_, P> {
    fn requests(
        &self,
        object: &LeanObject,
        correction: &Correction,
    ) -> Option<Result<Box<dyn Requests>, Unrenderable>> {
        let secrets = self.program.sent_secrets_of(object)?;
        Some(requests(self.text, object, correction, secrets))
    }

    fn may_begin(&self) -> bool {
        self.program.may_begin()
    }

    fn destinations(&self, requests: &dyn Requests) -> Destinations {
        self.program.destinations(requests)
    }

    fn take_probes(&self, hosts: &[String], now: Moment) -> Result<Probes, Moment> {
        self.program.take_probes(hosts, now)
    }
}

impl<P: SharedState> Target<P> {
    pub(super) fn take_done(&mut self, uid: &Uid, event: Event, now: Now) {
        let Some(underway) = self.under_way.get_mut(uid) else { return };
        let step = underway.execution.next(event, now);
        self.follow(uid, step, now);
    }

    pub(super) fn follow(&mut self, uid: &Uid, step: Step, now: Now) {
        self.tell_news(uid);
        let Some(underway) = self.under_way.get(uid) else { return };
        match step {
            Step::Decide => self.decide_again(uid, now),
            Step::Do(operation) => {
                self.effects.push(Effect::Do(Box::new(underway.execution.object().clone()), operation));
            }
            Step::Pause => self.program.release(uid),
            Step::End(end) => self.end_work(uid, &end, now),
        }
    }

    fn decide_again(&mut self, uid: &Uid, now: Now) {
        let Some(underway) = self.under_way.get(uid) else { return };
        let (object, was_read) = (underway.execution.object().clone(), underway.execution.was_read());
        let decided = self.decide_live(object, was_read, now);
        let Some(underway) = self.under_way.get_mut(uid) else { return };
        let view = TargetView { text: &self.text, program: &self.program };
        let step = match decided {
            Some((object, decision, taken)) => underway.execution.decided(object, (decision, taken), &view, now),
            None => underway.execution.next(Event::Dismissed, now),
        };
        self.follow(uid, step, now);
    }

    /// Reports the news of an execution, and holds the object of a Job that makes no progress.
    fn tell_news(&mut self, uid: &Uid) {
        let Some(underway) = self.under_way.get_mut(uid) else { return };
        for news in underway.execution.take_news() {
            let Some(correction) = underway.execution.correction() else { continue };
            match &news {
                News::Unsendable(cause) if self.objects.object(uid).is_some() => {
                    underway.is_known = !self.reported_causes.is_news(uid, cause);
                }
                News::Ended { outcome, .. } if !outcome.sent_nothing() => self.reported_causes.forget(uid),
                _ => {}
            }
            let object = Box::new(underway.execution.object().clone());
            let (correction, is_known) = (Box::new(correction.clone()), underway.is_known);
            self.effects.push(Effect::Report(Report::Correction { object, correction, news, is_known }));
        }
        // The objects of a superseded target are not held any more; their counts were subtracted.
        if let Some(held) = underway.execution.take_stall().filter(|_| !self.superseded) {
            self.hold(uid, held);
        }
    }

    fn end_work(&mut self, uid: &Uid, end: &ExecutionEnd, now: Now) {
        let Some(underway) = self.under_way.remove(uid) else { return };
        let object = underway.execution.object().clone();
        if end.misses_what_is_seen() {
            self.report(Report::DeletionFoundNothing(Box::new(object.clone())));
        }
        self.effects.push(Effect::End(uid.clone()));
        self.program.release(uid);
        self.program.end(uid);
        self.take_end(object, (underway, end), now);
    }

    /// Returns the end of the first pause.
    pub(super) fn next_pause(&self) -> Option<Moment> {
        self.under_way.values().filter_map(|underway| underway.execution.due()).min()
    }

    pub(super) fn end_pauses(&mut self, now: Now) {
        let is_over = |due: Moment| due <= now.moment;
        let over = self.under_way.iter().filter(|(_, underway)| underway.execution.due().is_some_and(is_over));
        let over: Vec<Uid> = over.map(|(uid, _)| uid.clone()).collect();
        over.iter().for_each(|uid| self.end_pause(uid, now));
    }

    /// Ends the pause of an object, if it has one.
    pub(super) fn end_pause(&mut self, uid: &Uid, now: Now) {
        let interrupt = self.interrupt();
        let underway = self.under_way.get_mut(uid);
        if let Some(next) = underway.and_then(|underway| underway.execution.end_pause(interrupt, now)) {
            self.follow(uid, next, now);
        }
    }

    fn interrupt(&self) -> Option<Interrupt> {
        if self.term_ended { Some(Interrupt::CutOff) } else { self.superseded.then_some(Interrupt::Superseded) }
    }

    pub(super) fn end_term(&mut self, now: Now) {
        self.term_ended = true;
        self.cut_pauses_short(now);
    }

    fn cut_pauses_short(&mut self, now: Now) {
        let uids: Vec<Uid> = self.under_way.keys().cloned().collect();
        uids.iter().for_each(|uid| self.end_pause(uid, now));
    }

    /// Stops the engine, because the target was edited or removed. No new work begins, and running work continues to
    /// its end. Returns the handover for the engine of the next version, and the effects.
    #[must_use]
    pub fn supersede(&mut self, now: Now) -> (Handover, Vec<Effect>) {
        let (empty, _) = ObjectStore::new(TargetFacts::of(&self.text), Handover::default());
        let objects = std::mem::replace(&mut self.objects, empty);
        let handover = objects.into_handover(std::mem::take(&mut self.memories));
        let held = self.held.counts().filter(|(why, _)| why.is_noteworthy());
        self.effects.extend(held.map(|(why, count)| Effect::Report(Report::HeldBy(why, -count))));
        self.report(Report::Ended);
        self.program.leave();
        self.under_way.values_mut().for_each(|underway| underway.reserved = None);
        self.superseded = true;
        // Running work may take hours and needs no decision state.
        (self.queue, self.limited, self.crowded, self.unproved) = Default::default();
        (self.held, self.deletions, self.reported_deletions) = Default::default();
        if !self.term_ended {
            self.cut_pauses_short(now);
        }
        (handover, std::mem::take(&mut self.effects))
    }

    /// Returns true if any work is running.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        !self.under_way.is_empty()
    }
}
