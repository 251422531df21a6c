//! What this process remembers of one object: what was written, when it was corrected, and what came of it.
//!
//! It keeps a lost status from being believed, and an old verdict from being acted on. A restart starts anew; whatever must survive
//! one stands on the object.

mod delay;
mod verdicts;
mod writes;

use std::cmp::Ordering;
use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::condition::{
    Condition, ConditionStatus, CorrectedReason, CorrectionStatus, CurrentVerdict, DesiredHash, ObservedReason,
    TransitionTime,
};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::outcome::Outcome;
pub use delay::Delay;
pub use writes::WritePace;

/// The time that a verdict that may not be the poller's newest word is not acted on, be it that the object brought it along
/// into the selection or that another writer put it back: the poller sees the object within a second and takes the target
/// or the object off its Lease within another, and the Lease is read every two. By then either nobody attests, or the
/// poller has judged anew. Twice that and more, since either of them may stand still for a moment.
pub const VERDICT_HELD_FOR: Duration = Duration::from_secs(10);

/// The memory of one object.
#[derive(Clone, Debug)]
pub struct ObjectMemory {
    /// What delays its next correction.
    pub delay: Delay,
    /// What delays the next write to it.
    pub writes: WritePace,
    /// True if the external resource is deleted already, so that only the finalizer is left.
    pub deleted_outside: bool,
    /// True if nothing was asked for its deletion, since the target skipped every step: what is outside stays there.
    pub deletion_skipped: bool,
    /// True if a request may have taken the external resource away since it was last found in sync.
    pub may_be_gone: bool,
    /// What tells the spec that the object has from another.
    spec: Option<SpecMark>,
    /// True if it was seen being deleted.
    deleting: bool,
    /// The last status that we know to have stood: this process wrote it, or found it when it first saw the object.
    /// Boxed: of most objects there is none.
    written: Option<Box<CorrectionStatus>>,
    /// The retry request that is old: answered, or there before the object needed one.
    retry_seen: Option<SharedText>,
    /// The retry request that the last correction answers, once one ends for which something was sent.
    retry_answered: Option<SharedText>,
    /// The newest transition time of all verdicts that were seen on the object.
    newest_verdict: TransitionTime,
    /// The verdict that is not acted on yet, and since when.
    /// Boxed: nearly all objects have none.
    held_verdict: Option<Box<(Condition, Moment)>>,
}

/// What tells one spec of an object from another.
#[derive(Clone, Copy, Debug)]
struct SpecMark {
    generation: Option<i64>,
    desired_hash: DesiredHash,
}

impl SpecMark {
    /// Returns true if the object was edited between the two, and to another desired state. An edit of what the target does not read is
    /// none, nor is an edit of the target; a kind without generation cannot tell the latter.
    fn is_edit_of(self, before: Self) -> bool {
        self.desired_hash != before.desired_hash && (self.generation.is_none() || self.generation != before.generation)
    }
}

impl ObjectMemory {
    /// The memory of an object that is seen for the first time: whatever an earlier process wrote on it and asked of it
    /// is known from then on, and another writer cannot make us forget it.
    #[must_use]
    pub fn of(object: &LeanObject, now: Moment) -> Self {
        let mut memory = Self::new(now, object.retry_requested());
        memory.adopt_status(object);
        // A process before this one may have asked for it; what is in sync is there.
        memory.may_be_gone = true;
        memory
    }

    /// The same for one that carries no status.
    pub(in crate::engine) fn new(now: Moment, retry_requested: Option<&str>) -> Self {
        Self {
            delay: Delay::new(now),
            writes: WritePace::default(),
            deleted_outside: false,
            deletion_skipped: false,
            may_be_gone: false,
            spec: None,
            deleting: false,
            written: None,
            retry_seen: retry_requested.map(SharedText::from),
            retry_answered: None,
            newest_verdict: TransitionTime::default(),
            held_verdict: None,
        }
    }

    /// The object came into sight after the first list, with this verdict: word of a time in which nobody watched it.
    pub fn arrive(&mut self, verdict: Option<&Condition>, now: Moment) {
        self.held_verdict = verdict.map(|verdict| Box::new((verdict.clone(), now)));
    }

    /// From when on the verdict that stands may be acted on; `None` where it is the poller's newest word.
    #[must_use]
    pub fn believed_from(&self) -> Option<Moment> {
        self.held_verdict.as_ref().map(|held| held.1 + VERDICT_HELD_FOR)
    }

    /// What is said of the object: what stands on it, with the larger K of both conditions, or where another writer
    /// took that away, what we know of K and the claim.
    #[must_use]
    pub fn status_of(&self, object: &LeanObject) -> CorrectionStatus {
        let current = object.conditions.correction_status();
        match self.lost_status(object) {
            Some(lost) => {
                let correction = lost.correction.max(current.correction);
                CorrectionStatus { reason: None, correction, ..lost.clone() }
            }
            None => current,
        }
    }

    /// Returns true if a status says what this process knows to be so: that what is to be replaced is being deleted, or that a Job was
    /// begun whose end could not be seen. Any other word that a correction has begun was left by a process that is no more.
    #[must_use]
    pub fn knows_to_go_on(&self, status: &CorrectionStatus) -> bool {
        let begun = self.written.as_ref().filter(|known| known.reason == Some(CorrectedReason::CorrectionStarted));
        begun.is_some_and(|known| known.correction == status.correction)
    }

    /// The status that another writer took from the object.
    #[must_use]
    pub fn lost_status(&self, object: &LeanObject) -> Option<&CorrectionStatus> {
        let current = object.conditions.correction_status();
        self.written.as_deref().filter(|written| is_lost_in(written, &current))
    }

    /// The target is no more. What was written for it may be cleaned up, and what is then made anew outside is not ours.
    pub fn forget_status(&mut self) {
        self.written = None;
    }

    /// A correction begins. A request for one more try is answered only by its end: until then it may be called off.
    pub fn begin(&mut self, now: Moment, retry_requested: Option<&str>) {
        self.delay.begin(now);
        self.retry_answered = retry_requested.map(SharedText::from);
    }

    /// The correction that began last was called off before anything was sent: it did not count.
    pub fn call_off(&mut self) {
        self.delay.call_off();
        self.retry_answered = None;
    }

    /// A correction came to an end.
    pub fn finish(&mut self, correction: &Correction, outcome: &Outcome, now: Moment) {
        let answered = if outcome.sent_nothing() { None } else { self.retry_answered.take() };
        if answered.is_some() {
            self.retry_seen = answered;
        }
        self.delay.finish(correction, outcome, now);
        self.may_be_gone |= correction.may_have_taken_away(outcome);
        if correction.action == Action::Delete {
            self.deleted_outside |= *outcome == Outcome::Applied;
            self.deletion_skipped |= *outcome == Outcome::AllSkipped;
        }
    }

    /// A status that is no part of a correction was written.
    pub fn land_status(&mut self, status: CorrectionStatus, now: Moment) {
        self.writes.count_repair(now);
        self.land_outcome(status);
    }

    /// What a correction came to was written.
    pub fn land_outcome(&mut self, status: CorrectionStatus) {
        self.writes.land_status();
        self.know(status);
    }

    /// The object does not need a retry now, so a request that stands is old.
    pub fn see_retry_request(&mut self, retry_requested: Option<&str>) {
        if self.retry_seen.as_deref() != retry_requested {
            self.retry_seen = retry_requested.map(SharedText::from);
        }
    }

    /// Returns true if somebody asked for one more try since the last.
    #[must_use]
    pub fn retry_is_requested(&self, retry_requested: Option<&str>) -> bool {
        retry_requested.is_some() && self.retry_seen.as_deref() != retry_requested
    }

    /// Until when a correction waits that could not be sent; `None` where none does, or somebody asked for a try since the last.
    #[must_use]
    pub fn unsent_until(&self, retry_requested: Option<&str>, now: Moment) -> Option<Moment> {
        let is_asked_for =
            self.retry_is_requested(retry_requested) && self.retry_answered.as_deref() != retry_requested;
        Some(self.delay.unsent_until()).filter(|until| now < *until && !is_asked_for)
    }

    /// Takes in the object as it is seen now: what it shows may end a doubt or make a retry request old.
    pub fn observe(
        &mut self,
        object: &LeanObject,
        desired_hash: Option<DesiredHash>,
        allowed_attempts: u32,
        now: Moment,
    ) {
        self.see_edit(object, desired_hash, now);
        self.adopt_status(object);
        let current = object.conditions.observed().and_then(CurrentVerdict::read);
        self.see_verdict(object.conditions.observed().filter(|_| current.is_some()), now);
        let reason = current.as_ref().map(|current| current.reason);
        // What stands on a deleting object is of before its deletion, which may be in doubt.
        if reason == Some(ObservedReason::InSync) && !object.deleting {
            self.delay.end_doubt();
            self.may_be_gone = false;
        }
        self.give_room_back(now);
        let used_up = current.is_some_and(|current| current.tag.unhealed >= allowed_attempts);
        // A poll that fails does not say whether a replacement is asked for again.
        let exhausted = || used_up || self.delay.lost_something() || object.conditions.correction_status().replaced;
        let drifted = reason.is_some_and(|reason| reason.status() != ConditionStatus::False);
        if !(drifted && exhausted() || self.delay.could_not_send()) {
            self.see_retry_request(object.retry_requested());
        }
    }

    /// What was tried or written so long ago that it delays nothing any more takes no room any more.
    pub fn give_room_back(&mut self, now: Moment) {
        self.delay.give_room_back(now);
        self.writes.give_room_back(now);
    }

    /// A status that counts more corrections than ours is the newer word: an earlier process wrote it, or we did and the
    /// answer was lost. A claim is nobody's last word: whoever wrote it may still take it back.
    fn adopt_status(&mut self, object: &LeanObject) {
        let known = self.written.as_ref().map(|written| written.correction);
        let current = object.conditions.corrected().and_then(CorrectionStatus::read);
        let current = current.filter(|status| status.reason != Some(CorrectedReason::CorrectionStarted));
        if let Some(status) = current.filter(|status| known.is_none_or(|known| status.correction > known)) {
            self.know(status);
        }
    }

    /// A status is known to have stood, or is to be taken for one that does. One that counts another correction ends the doubt: what follows has a number
    /// of its own, and a poll before it.
    pub fn know(&mut self, status: CorrectionStatus) {
        if self.written.as_ref().map_or(0, |written| written.correction) < status.correction {
            self.delay.forget_doubt();
        }
        self.written = status.reason.is_some().then(|| Box::new(status));
    }

    /// What was tried for a former spec, or before the deletion, says little of what comes now.
    fn see_edit(&mut self, object: &LeanObject, desired_hash: Option<DesiredHash>, now: Moment) {
        let deletes = object.deleting && !self.deleting;
        self.deleting = object.deleting;
        let mark = desired_hash.map(|desired_hash| SpecMark { generation: object.generation, desired_hash });
        let edits = mark.zip(self.spec).is_some_and(|(mark, before)| mark.is_edit_of(before));
        self.spec = mark.or(self.spec);
        if deletes || edits {
            self.delay.note_edit(now);
        }
    }
}

/// Returns true if what stands says so little of what was written that another writer must have taken it away. A status that
/// counts more corrections is newer, and may have given up a claim.
fn is_lost_in(written: &CorrectionStatus, current: &CorrectionStatus) -> bool {
    if current.reason.is_none() {
        return written.correction > 0 || written.claim.is_some();
    }
    match current.correction.cmp(&written.correction) {
        Ordering::Greater => false,
        Ordering::Less => true,
        Ordering::Equal => written.owned().is_some() && current.owned().is_none(),
    }
}

#[cfg(test)]
mod tests;
