//! The executions under way: how each begins, and what is remembered of its end.
//!
//! Every end is remembered before the object is decided on again.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use super::{Target, WRITES_AT_ONCE};
use crate::core::decision::Decision;
use crate::core::execution::ExecutionEnd;
use crate::core::held::Held;
use crate::core::limits::Place;
use crate::engine::effect::{Effect, Report};
use crate::engine::input::Now;
use crate::engine::program::Program;

/// When an object that could not be read, written or got hold of is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// One execution.
#[derive(Debug)]
pub(super) struct Underway {
    /// Its part of the target's limits, from before the live read.
    pub(super) reserved: Option<Place>,
    /// Its part of the target's limits, once the correction counts as begun.
    pub(super) begun: Option<Place>,
    is_correction: bool,
}

impl<P: Program> Target<P> {
    /// Begins to carry out a decision. Returns false if the object is to be looked at again instead.
    pub(super) fn begin(&mut self, uid: &Uid, decision: Decision, now: Moment) -> bool {
        let is_correction = matches!(decision, Decision::Correct(_));
        if !is_correction && self.writes_under_way() >= WRITES_AT_ONCE {
            self.crowded.join(uid);
            return false;
        }
        let ready_at = self.unreadable.ready_at(uid);
        if now < ready_at {
            self.queue.add_after(uid, ready_at);
            return false;
        }
        let Some(object) = self.roster.object(uid).cloned().filter(|_| self.program.begin(uid)) else {
            self.queue.add_after(uid, now + LOOK_AGAIN);
            return false;
        };
        let line = self.roster.line(uid);
        let reserved = is_correction.then(|| self.roster.pace.begin(&line, now));
        self.under_way.insert(uid.clone(), Underway { reserved, begun: None, is_correction });
        self.effects.push(Effect::Begin { object: Box::new(object), decision });
        true
    }

    pub(super) fn writes_under_way(&self) -> usize {
        self.under_way.values().filter(|underway| !underway.is_correction).count()
    }

    /// Whatever an execution waits for, an object that is deleted does not.
    pub(super) fn note_deletion(&mut self, object: &LeanObject) {
        if object.deleting && self.under_way.contains_key(&object.id.uid) {
            self.effects.push(Effect::Interrupt(object.id.uid.clone()));
        }
    }

    /// An execution that has ended meanwhile is decided on again instead.
    pub(super) fn note_stall(&mut self, uid: &Uid, held: Option<Held>) {
        if self.under_way.contains_key(uid) {
            self.hold(uid, held);
        }
    }

    pub(super) fn take_end(&mut self, object: LeanObject, end: &ExecutionEnd, now: Now) {
        let uid = object.id.uid.clone();
        let Some(Underway { reserved, begun, .. }) = self.under_way.remove(&uid) else { return };
        let has_begun = begun.is_some();
        for place in reserved.into_iter().chain(begun.filter(|_| end.sent_nothing())) {
            self.roster.pace.call_off(place);
        }
        let refused = self.roster.memory(&uid).is_some_and(|memory| end.remember(memory, has_begun, now.moment));
        // What left the selection meanwhile is not brought back by our own write.
        if self.roster.object(&uid).is_some() {
            self.look_after(object, end, (refused, now));
        }
        // What is claimed on the object is taken in by now; before, the claim would seem to be given up for a moment.
        self.roster.set_claiming(&uid, false);
        self.contend(&uid);
        self.queue.done(&uid);
    }

    fn look_after(&mut self, object: LeanObject, end: &ExecutionEnd, (refused, now): (bool, Now)) {
        let uid = object.id.uid.clone();
        match end {
            ExecutionEnd::Gone => return self.forget(&uid),
            ExecutionEnd::Nothing => return,
            ExecutionEnd::Lost | ExecutionEnd::CalledOff => self.queue.add_after(&uid, now.moment + LOOK_AGAIN),
            ExecutionEnd::Postponed(until) => self.queue.add_after(&uid, *until),
            ExecutionEnd::PutOff(pause) => self.queue.add_after(&uid, now.moment + *pause),
            ExecutionEnd::Unread(sentence) => {
                if self.unreadable.fail(&uid, now.moment) {
                    self.report(Report::Unreadable(object.id, sentence.clone()));
                }
                return self.queue.add_after(&uid, self.unreadable.ready_at(&uid));
            }
            ExecutionEnd::Refused { sentence, .. } if refused => {
                self.report(Report::WriteRefused(Box::new(object.clone()), sentence.clone()));
                self.queue.add(&uid);
            }
            ExecutionEnd::Written(_)
            | ExecutionEnd::Patched
            | ExecutionEnd::Corrected { .. }
            | ExecutionEnd::Refused { .. } => self.queue.add(&uid),
        }
        let known = self.roster.object(&uid).map(|known| &known.resource_version);
        if known != Some(&object.resource_version) {
            self.see(object, now);
        }
    }
}
