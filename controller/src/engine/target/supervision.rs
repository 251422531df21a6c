//! Running executions: their start, and the memory of their end.
//!
//! Every end is recorded before the object is decided on again.

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_language::Mode;
use std::time::Duration;

use super::operation_results::TargetView;
use super::{Target, WRITES_AT_ONCE};
use crate::engine::correction_limits::Place;
use crate::engine::corrections::Held;
use crate::engine::decide::decision::Decision;
use crate::engine::effect::Report;
use crate::engine::execution::{Execution, ExecutionEnd};
use crate::engine::now::Now;
use crate::engine::shared_state::SharedState;

/// Delay after an object could not be read, written or locked.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Delay after an object that no target sees was found to claim the resource. Few objects are affected, and a
/// person resolves it.
const READ_HOLDERS_AGAIN: Duration = Duration::from_secs(60);

/// One running execution.
#[derive(Debug)]
pub(super) struct Underway {
    pub(super) execution: Execution,
    /// True if the correction cannot be sent for a cause that was already reported.
    pub(super) is_known: bool,
    /// Its place in the target's limits, from before the live read.
    pub(super) reserved: Option<Place>,
    /// Its place in the target's limits, once the correction counts as begun.
    pub(super) begun: Option<Place>,
    is_correction: bool,
    /// True for a create that a poll has to find.
    is_create: bool,
}

impl<P: SharedState> Target<P> {
    /// Begins the execution of a decision. Returns false if the object is decided on later instead.
    pub(super) fn begin(&mut self, uid: &Uid, decision: Decision, now: Now) -> bool {
        let is_correction = matches!(decision, Decision::Correct(_));
        let is_create = matches!(&decision, Decision::Correct(correction) if correction.creating.is_some());
        if !is_correction && self.writes_under_way() >= WRITES_AT_ONCE {
            self.crowded.join(uid);
            return false;
        }
        let ready_at = self.unreadable.ready_at(uid);
        if now.moment < ready_at {
            self.queue.add_after(uid, ready_at);
            return false;
        }
        let Some(object) = self.objects.object(uid).cloned().filter(|_| self.program.begin(uid)) else {
            self.queue.add_after(uid, now.moment + LOOK_AGAIN);
            return false;
        };
        let line = self.objects.line(uid);
        let reserved = is_correction.then(|| self.objects.usage.begin(&line, now.moment));
        let view = TargetView { text: &self.text, program: &self.program };
        let (execution, step) = Execution::begin(object, decision, &view, now);
        let underway = Underway { execution, is_known: false, reserved, begun: None, is_correction, is_create };
        self.under_way.insert(uid.clone(), underway);
        self.follow(uid, step, now);
        true
    }

    pub(super) fn writes_under_way(&self) -> usize {
        self.under_way.values().filter(|underway| !underway.is_correction).count()
    }

    /// Returns true if the create of another object is under way that a poll has to find before the read is proved.
    pub(super) fn is_creating_beside(&self, own: Option<&Uid>) -> bool {
        let creates = |(uid, underway): (&Uid, &Underway)| underway.is_create && Some(uid) != own;
        !self.objects.is_read_proved() && self.under_way.iter().any(creates)
    }

    /// Ends the pause of an object that is being deleted.
    pub(super) fn note_deletion(&mut self, object: &LeanObject, now: Now) {
        let uid = &object.id.uid;
        let underway = self.under_way.get_mut(uid).filter(|_| object.deleting);
        if underway.is_some_and(|underway| underway.execution.note_deletion()) {
            self.end_pause(uid, now);
        }
    }

    pub(super) fn take_end(&mut self, object: LeanObject, (underway, end): (Underway, &ExecutionEnd), now: Now) {
        let uid = object.id.uid.clone();
        let Underway { reserved, begun, execution, .. } = underway;
        let has_begun = begun.is_some();
        for place in reserved.into_iter().chain(begun.filter(|_| end.sent_nothing())) {
            self.objects.usage.call_off(place);
        }
        let refused = self.objects.memory(&uid).is_some_and(|memory| end.remember(memory, has_begun, now.moment));
        if self.text.correct.mode == Mode::Approve
            && let Some((number, before, after)) = execution.own_store(end)
            && let Some(memory) = self.objects.memory(&uid)
        {
            memory.own_store.note(number, before, after);
        }
        // Our own write does not restore an object that left the selection meanwhile.
        if self.objects.object(&uid).is_some() {
            self.look_after(object, end, (refused, now));
        }
        // The claim on the object is taken in before. Otherwise it would seem to be given up for a moment.
        self.objects.set_claiming(&uid, false);
        self.contend(&uid);
        self.queue.done(&uid);
    }

    fn look_after(&mut self, object: LeanObject, end: &ExecutionEnd, (refused, now): (bool, Now)) {
        let uid = object.id.uid.clone();
        match end {
            ExecutionEnd::Gone => return self.forget(&uid),
            ExecutionEnd::Nothing => return,
            ExecutionEnd::StillTaken => {
                self.hold(&uid, Some(Held::IdentityTaken));
                return self.queue.add_after(&uid, now.moment + READ_HOLDERS_AGAIN);
            }
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
        let known = self.objects.object(&uid).map(|known| &known.resource_version);
        if known != Some(&object.resource_version) {
            self.see(object, now);
        }
    }
}
