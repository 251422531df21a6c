//! Engine of one target: its objects, their queue, and the decision for each.

mod holds_report;
mod housekeeping;
mod live;
mod operation_results;
mod reported_causes;
mod scope_wait;
mod supervision;
mod unreadable;
mod watching;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::collections::fifo::Fifo;
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_api::timing::work_queue::WorkQueue;
use drift_language::{Mode, TargetState};

use super::effect::{Effect, Report};
use super::input::Input;
use super::now::Now;
use super::shared_state::SharedState;
use crate::engine::correction_limits::Room;
use crate::engine::corrections::Held;
use crate::engine::decide::decision::Decision;
use crate::engine::decide::facts::TargetFacts;
use crate::engine::memory::ObjectMemory;
use crate::engine::objects::deletions::Deletions;
use crate::engine::objects::held_objects::{HeldCounts, TargetHeld};
use crate::engine::objects::object_store::{Handover, ObjectStore, SharedFacts};
use crate::engine::objects::waiting_lines::Lines;
use housekeeping::{HOUSEKEEPING, Schedule};
use reported_causes::ReportedCauses;
use scope_wait::ScopeWait;
use supervision::Underway;
use unreadable::Unreadable;

/// Maximum concurrent executions of one target that are no corrections and wait only for the API server. Without
/// it, a target with thousands of finalizers to add would delay all other targets. A quarter of all calls keeps the
/// API server busy.
const WRITES_AT_ONCE: usize = 8;

/// Longest wait for a window to open. After it the engine reads the wall clock again, because a clock may be set.
const LONGEST_WAIT_FOR_WINDOW: Duration = Duration::from_mins(10);

/// Engine of one version of a target.
#[derive(Debug)]
pub struct Target<P> {
    /// The target's part of the shared state.
    pub program: P,
    text: Arc<drift_language::Target>,
    objects: ObjectStore,
    /// Memories from before the target's last edit, for objects that were not seen since.
    memories: HashMap<Uid, ObjectMemory>,
    /// Objects that wait for a decision.
    queue: WorkQueue,
    /// Objects that wait for the target's limits.
    limited: Lines,
    /// Objects that wait until fewer writes are running.
    crowded: Fifo,
    /// Objects whose create waits for the proof of the read.
    unproved: Fifo,
    /// Ordered by uid, so that the same inputs give the same effects.
    under_way: BTreeMap<Uid, Underway>,
    unreadable: Unreadable,
    reported_causes: ReportedCauses,
    held: HeldCounts,
    /// Deletions that wait for this program.
    deletions: Deletions,
    /// Objects whose held deletion was already reported.
    reported_deletions: HashSet<Uid>,
    scope_wait: ScopeWait,
    /// State of the target by its ConfigMaps.
    state: TargetState,
    /// Attestation of the poller at the last decision on all objects.
    attestation: Option<Attestation>,
    /// The holds as they were reported last.
    reported_holds: Option<TargetHeld>,
    schedule: Schedule,
    /// True if the target was edited or removed.
    superseded: bool,
    /// True if the Lease is lost or the drain deadline is over.
    term_ended: bool,
    effects: Vec<Effect>,
}

impl<P: SharedState> Target<P> {
    /// Creates an engine without objects. `handover` comes from the engine of the target's previous version.
    #[must_use]
    pub fn new(text: Arc<drift_language::Target>, program: P, mut handover: Handover) -> Self {
        if text.objects.keeps_reports() {
            // A report has no claim. One that a former text left on the object stays there until it is cleaned up.
            handover.forget_claims();
        }
        let (objects, memories) = ObjectStore::new(TargetFacts::of(&text), handover);
        let effects = vec![Effect::Report(Report::BreakerOpen(objects.breaker_is_open()))];
        Self {
            program,
            text,
            objects,
            memories,
            queue: WorkQueue::default(),
            limited: Lines::default(),
            crowded: Fifo::default(),
            unproved: Fifo::default(),
            under_way: BTreeMap::new(),
            unreadable: Unreadable::default(),
            reported_causes: ReportedCauses::default(),
            held: HeldCounts::default(),
            deletions: Deletions::default(),
            reported_deletions: HashSet::new(),
            scope_wait: ScopeWait::default(),
            state: TargetState::Live,
            attestation: None,
            reported_holds: None,
            schedule: Schedule::default(),
            superseded: false,
            term_ended: false,
            effects,
        }
    }

    /// Processes one input. Returns the effects in order.
    #[must_use]
    pub fn step(&mut self, now: Now, input: Input) -> Vec<Effect> {
        self.held.begin_step(now.moment);
        match input {
            Input::Seen(object) => self.take_seen(*object, now),
            Input::Reported(uid, report) => self.take_reported(&uid, *report, now),
            Input::Left(uid) => self.forget(&uid),
            Input::Skipped(object) => self.skip(object),
            Input::Listed => self.note_listed(),
            Input::ReadAnew(live) => self.take_read_anew(live, now),
            Input::Done(uid, done) => self.take_done(&uid, done, now),
            Input::TermEnded => self.end_term(now),
            Input::Concerned(uid) => self.queue.add(&uid),
            Input::ScopesChanged => {
                let waiting = [Held::ScopeIncomplete, Held::IdentityTaken, Held::IdentityContested];
                waiting.into_iter().for_each(|why| self.reconsider_held(why));
            }
            Input::StateChanged(state) => self.take_state(state),
            Input::AttestationChanged => self.note_attestation(now.moment),
            Input::Tick => self.tick(now),
        }
        std::mem::take(&mut self.effects)
    }

    /// Returns true once [`Input::TermEnded`] was taken in.
    #[must_use]
    pub const fn has_term_ended(&self) -> bool {
        self.term_ended
    }

    /// Returns the objects as last seen.
    #[must_use]
    pub const fn objects(&self) -> &ObjectStore {
        &self.objects
    }

    fn tick(&mut self, now: Now) {
        self.end_pauses(now);
        if !self.superseded {
            self.housekeep_if_due(now);
            self.attend(now);
        }
        let wake = self.next_wake(now.moment);
        self.effects.push(Effect::WakeAt(wake));
    }

    fn next_wake(&self, now: Moment) -> Moment {
        if self.superseded {
            return self.next_pause().unwrap_or(now + HOUSEKEEPING);
        }
        let limited = self.limited.iter().find_map(|line| match self.objects.room(line, now) {
            Room::From(until) => Some(until),
            Room::Free | Room::AfterAnEnd => None,
        });
        let wakes = [self.queue.next_at(now), limited, self.next_look_at_secrets(), self.next_pause()];
        wakes.into_iter().flatten().fold(self.schedule.housekeeping, Moment::min)
    }

    /// Decides on every object that is due, and on waiting ones as far as the limits and the API server allow.
    fn attend(&mut self, now: Now) {
        self.attend_breaker(now.moment);
        loop {
            while let Some(uid) = self.queue.next(now.moment) {
                self.attend_object(&uid, now);
            }
            let limited = self.limited.call_next(|line| self.objects.room(line, now.moment) == Room::Free);
            let crowded = if self.writes_under_way() < WRITES_AT_ONCE { self.crowded.call_next() } else { None };
            let is_creating = self.is_creating_beside(None);
            let unproved = if self.objects.may_create_another(is_creating) { self.unproved.call_next() } else { None };
            if limited.is_none() && crowded.is_none() && unproved.is_none() {
                return;
            }
            limited.iter().chain(&crowded).chain(&unproved).for_each(|uid| self.queue.add(uid));
        }
    }

    fn attend_object(&mut self, uid: &Uid, now: Now) {
        let begun = match self.decide(uid, now) {
            Some(decision) => self.begin(uid, decision, now),
            None => false,
        };
        if !begun {
            self.queue.done(uid);
        }
    }

    /// Decides on an object and queues its next decision. Returns the decision if there is something to do.
    fn decide(&mut self, uid: &Uid, now: Now) -> Option<Decision> {
        let shared = self.shared_facts(uid, now);
        let mut decision = self.objects.decide(uid, shared, now.moment)?;
        if let Decision::TakeUp { holders, .. } = &mut decision {
            holders.retain(|holder| !self.program.sees(holder));
        }
        let held = match decision {
            Decision::Nothing(why) => Some(why),
            // The waiting line itself knows when a place is free again.
            Decision::Wait { why: Held::Limited, .. } => Some(Held::Limited),
            Decision::Wait { until, why } => {
                self.queue.add_after(uid, until);
                Some(why)
            }
            _ => None,
        };
        match held {
            Some(Held::Limited) => self.limited.join(self.objects.line(uid), uid),
            Some(Held::ReadUnproved) => self.unproved.join(uid),
            _ => {}
        }
        let before = self.hold(uid, held);
        // A hold from before the deletion blocks the finalizer only since the deletion, so it is reported once more.
        let is_deletion_news = held.is_some()
            && self.objects.object(uid).is_some_and(|object| object.deleting)
            && self.reported_deletions.insert(uid.clone());
        if before != held || is_deletion_news {
            self.report_hold(uid, held);
        }
        held.is_none().then_some(decision)
    }

    fn shared_facts(&self, uid: &Uid, now: Now) -> SharedFacts {
        let object = self.objects.object(uid);
        let attested = object.is_some_and(|object| self.program.attests(&object.id, now.moment));
        let claimant = self.objects.claimant(uid);
        let scope_complete = self.program.is_scope_complete(object.is_some_and(|object| object.deleting));
        let rights = claimant.map(|claimant| self.program.rights(uid, &claimant)).unwrap_or_default();
        let secrets = object.and_then(|object| self.program.secrets_of(object));
        let declared_secrets =
            object.filter(|_| self.approves_secrets()).and_then(|object| self.program.declared_secrets_of(object));
        let window_opens = object.and_then(|object| self.window_opens(object, now));
        let (state, is_creating) = (self.state, self.is_creating_beside(Some(uid)));
        SharedFacts { state, attested, rights, scope_complete, window_opens, secrets, declared_secrets, is_creating }
    }

    /// Returns true if a person approves what is sent, the versions of Secrets included.
    fn approves_secrets(&self) -> bool {
        self.text.correct.mode == Mode::Approve && !self.text.secrets.is_empty()
    }

    /// Returns the time at which the target's windows open for the object, or an earlier time to look at the clock again.
    fn window_opens(&self, object: &LeanObject, now: Now) -> Option<Moment> {
        let opens = self.text.correct.outside_window(object, now.timestamp())?;
        let wait = Duration::try_from(opens.duration_since(now.timestamp())).unwrap_or(LONGEST_WAIT_FOR_WINDOW);
        Some(now.moment + wait.min(LONGEST_WAIT_FOR_WINDOW))
    }

    /// Sets the reason why the object is held. Returns the previous reason.
    fn hold(&mut self, uid: &Uid, why: Option<Held>) -> Option<Held> {
        let (before, lasted) = self.held.set(uid, why);
        self.effects.extend(before.zip(lasted).map(|(why, lasted)| Effect::Report(Report::HeldFor(why, lasted))));
        if before != why {
            for (why, by) in [(before, -1), (why, 1)] {
                let noteworthy = why.filter(|why| why.is_noteworthy());
                self.effects.extend(noteworthy.map(|why| Effect::Report(Report::HeldBy(why, by))));
            }
        }
        before
    }

    fn report_hold(&mut self, uid: &Uid, held: Option<Held>) {
        let (Some(object), Some(why)) = (self.objects.object(uid), held) else { return };
        match why {
            Held::Suspended
            | Held::Paused
            | Held::NotAllowed
            | Held::TemplateFails
            | Held::OutsideDeletionWindow
            | Held::TargetTaken
            | Held::NewerVersion
                if object.deleting =>
            {
                let report = Report::DeletionHeld(Box::new(object.clone()), why);
                self.report(report);
            }
            _ => {}
        }
    }

    fn report(&mut self, report: Report) {
        self.effects.push(Effect::Report(report));
    }

    fn add_all<'a>(&mut self, uids: impl IntoIterator<Item = &'a Uid>) {
        uids.into_iter().for_each(|uid| self.queue.add(uid));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
