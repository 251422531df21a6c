//! Running decisions: each result of an operation leads to the next operation, to a pause, or to the end.

use drift_api::{Moment, Uid};

use super::Target;
use crate::engine::corrections::outcome::StepOutcome;
use crate::engine::decide::facts::TargetFacts;
use crate::engine::effect::{Effect, Report};
use crate::engine::execution::{Event, ExecutionEnd, Interrupt};
use crate::engine::input::Now;
use crate::engine::objects::object_store::{Handover, ObjectStore};
use crate::engine::operation::{Next, Work};
use crate::engine::shared_state::SharedState;

impl<P: SharedState> Target<P> {
    pub(super) fn take_done(&mut self, uid: &Uid, event: Event, now: Now) {
        let Some(underway) = self.under_way.get_mut(uid) else { return };
        let stall = match &event {
            Event::Answered(answer) => match &answer.outcome {
                StepOutcome::Open(stage) => underway.ongoing.note_stage(*stage),
                _ => None,
            },
            _ => None,
        };
        let next = underway.ongoing.take(event, now.moment);
        // The objects of a superseded target are not held any more; their counts were subtracted.
        if let Some(held) = stall.filter(|_| !self.superseded) {
            self.hold(uid, held);
        }
        self.follow(uid, next, now);
    }

    pub(super) fn follow(&mut self, uid: &Uid, next: Next, now: Now) {
        match next {
            Next::Do(work) => self.effects.push(Effect::Do(uid.clone(), work)),
            Next::Decide { object, was_read } => {
                let answer = self.decide_live(*object, was_read, now);
                let underway = self.under_way.get_mut(uid);
                if let Some(next) = underway.map(|underway| underway.ongoing.answer(answer, now.moment)) {
                    self.follow(uid, next, now);
                }
            }
            Next::Pause(work) => {
                self.program.release(uid);
                self.effects.push(Effect::Do(uid.clone(), work));
            }
            Next::End(work, end) => self.end_work(uid, (work, &end), now),
        }
    }

    fn end_work(&mut self, uid: &Uid, (work, end): (Box<Work>, &ExecutionEnd), now: Now) {
        let Some(underway) = self.under_way.remove(uid) else { return };
        let object = underway.ongoing.object().clone();
        if end.misses_what_is_seen() {
            self.report(Report::DeletionFoundNothing(Box::new(object.clone())));
        }
        self.effects.push(Effect::Do(uid.clone(), work));
        self.program.release(uid);
        self.program.end(uid);
        self.take_end(object, (underway, end), now);
    }

    /// Returns the end of the first pause.
    pub(super) fn next_pause(&self) -> Option<Moment> {
        self.under_way.values().filter_map(|underway| underway.ongoing.due()).min()
    }

    pub(super) fn end_pauses(&mut self, now: Now) {
        let is_over = |due: Moment| due <= now.moment;
        let over = self.under_way.iter().filter(|(_, underway)| underway.ongoing.due().is_some_and(is_over));
        let over: Vec<Uid> = over.map(|(uid, _)| uid.clone()).collect();
        over.iter().for_each(|uid| self.end_pause(uid, now));
    }

    /// Ends the pause of an object, if it has one.
    pub(super) fn end_pause(&mut self, uid: &Uid, now: Now) {
        let interrupt = self.interrupt();
        let underway = self.under_way.get_mut(uid);
        if let Some(next) = underway.and_then(|underway| underway.ongoing.end_pause(interrupt, now.moment)) {
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
