//! In-memory state of one object: written statuses, corrections and their outcomes.
//!
//! It detects a lost status and blocks actions on an outdated verdict. A restart begins with an empty memory;
//! everything that must survive a restart is stored on the object.

mod delay;
mod own_store;
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

use crate::engine::corrections::{Action, Correction, Outcome};
pub use delay::Delay;
pub use own_store::OwnStore;
pub use writes::WritePace;

/// Time that a possibly outdated verdict is held back, for example one that came with the object into the selection
/// or one that another writer restored. The poller sees the object within 1 s and removes the target or the object
/// from its Lease within another 1 s. The controller reads the Lease every 2 s. After that, either the attestation
/// is gone or the poller has judged anew. The constant is more than twice that sum, because either program may
/// pause for a moment.
pub const VERDICT_HELD_FOR: Duration = Duration::from_secs(10);

/// Memory about one object.
#[derive(Clone, Debug)]
pub struct ObjectMemory {
    /// Delay of the next correction.
    pub delay: Delay,
    /// Delay of the next write.
    pub writes: WritePace,
    /// True if the external resource is already deleted, so that only the finalizer remains.
    pub deleted_outside: bool,
    /// True if the target skipped every deletion step, so that the external resource remains.
    pub deletion_skipped: bool,
    /// Identifies the spec of the object.
    spec: Option<SpecMark>,
    /// True once the object was seen being deleted.
    deleting: bool,
    /// Last status that is known to have been on the object: this process wrote it, or found it when it first saw the
    /// object.
    written: Option<Box<CorrectionStatus>>,
    /// Outdated retry request: already answered, or present before the object needed a retry.
    retry_seen: Option<SharedText>,
    /// Retry request that the running correction answers, if that correction sends something before it ends.
    retry_answered: Option<SharedText>,
    /// Values that an approved correction stored itself.
    pub own_store: OwnStore,
    /// Newest transition time of all verdicts seen on the object.
    newest_verdict: TransitionTime,
    /// Verdict that is held back, and the time since when.
    held_verdict: Option<Box<(Condition, Moment)>>,
}

/// Distinguishes specs of one object.
#[derive(Clone, Copy, Debug)]
struct SpecMark {
    generation: Option<i64>,
    desired_hash: DesiredHash,
}

impl SpecMark {
    /// Returns true if the object was edited between the two marks, and to another desired state. Edits of fields that
    /// the target does not read do not count, nor do edits of the target. For a kind without generation, an edit of the
    /// target looks like an edit of the object.
    fn is_edit_of(self, before: Self) -> bool {
        self.desired_hash != before.desired_hash && (self.generation.is_none() || self.generation != before.generation)
    }
}

impl ObjectMemory {
    /// Creates the memory of an object that is seen for the first time. It adopts the status that an earlier process
    /// wrote, so that another writer cannot erase it.
    #[must_use]
    pub fn of(object: &LeanObject, now: Moment) -> Self {
        let mut memory = Self::new(now, object.retry_requested().filter(|request| !is_unanswered(object, request)));
        memory.adopt_status(object);
        memory
    }

    /// Creates the memory of an object without a status.
    pub(in crate::engine) fn new(now: Moment, retry_requested: Option<&str>) -> Self {
        Self {
            delay: Delay::new(now),
            writes: WritePace::default(),
            deleted_outside: false,
            deletion_skipped: false,
            spec: None,
            deleting: false,
            written: None,
            retry_seen: retry_requested.map(SharedText::from),
            retry_answered: None,
            own_store: OwnStore::default(),
            newest_verdict: TransitionTime::default(),
            held_verdict: None,
        }
    }

    /// Takes in the verdict of an object that appeared after the first list. It is held back, because the poller may
    /// not have watched the object meanwhile.
    pub fn arrive(&mut self, verdict: Option<&Condition>, now: Moment) {
        self.held_verdict = verdict.map(|verdict| Box::new((verdict.clone(), now)));
    }

    /// Returns the time from which the current verdict may be acted on; `None` if it is the poller's newest one.
    #[must_use]
    pub fn believed_from(&self) -> Option<Moment> {
        self.held_verdict.as_ref().map(|held| held.1 + VERDICT_HELD_FOR)
    }

    /// Returns the effective status of the object: the stored one with the larger K of both conditions. If another
    /// writer removed it, the remembered K and claim.
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

    /// Returns true if this process knows that the status is still true: a resource to be replaced is being deleted, or
    /// a Job was created whose end could not be seen. Any other `CorrectionStarted` was left by an earlier process.
    #[must_use]
    pub fn knows_to_go_on(&self, status: &CorrectionStatus) -> bool {
        let begun = self.written.as_ref().filter(|known| known.reason == Some(CorrectedReason::CorrectionStarted));
        begun.is_some_and(|known| known.correction == status.correction)
    }

    /// Returns the status that another writer removed from the object.
    #[must_use]
    pub fn lost_status(&self, object: &LeanObject) -> Option<&CorrectionStatus> {
        let current = object.conditions.correction_status();
        self.written.as_deref().filter(|written| is_lost_in(written, &current))
    }

    /// Forgets the status, because the target was removed. The status may be cleaned up, and a resource created after
    /// that is not ours.
    pub fn forget_status(&mut self) {
        self.written = None;
    }

    /// Records the start of a correction. Only its end answers a retry request, because it may still be called off.
    pub fn begin(&mut self, now: Moment, retry_requested: Option<&str>) {
        self.delay.begin(now);
        self.retry_answered = retry_requested.map(SharedText::from);
    }

    /// Records that the last correction was called off before anything was sent, so that it does not count.
    pub fn call_off(&mut self) {
        self.delay.call_off();
        self.retry_answered = None;
    }

    /// Records the end of a correction.
    pub fn finish(&mut self, correction: &Correction, outcome: &Outcome, now: Moment) {
        let answered = if outcome.sent_nothing() { None } else { self.retry_answered.take() };
        if answered.is_some() {
            self.retry_seen = answered;
        }
        self.delay.finish(correction, outcome, now);
        if correction.action == Action::Delete {
            self.deleted_outside |= *outcome == Outcome::Applied;
            self.deletion_skipped |= *outcome == Outcome::AllSkipped;
        }
    }

    /// Records the write of a status outside of a correction.
    pub fn land_status(&mut self, status: CorrectionStatus, now: Moment) {
        self.writes.count_repair(now);
        self.land_outcome(status);
    }

    /// Records the write of a correction's outcome.
    pub fn land_outcome(&mut self, status: CorrectionStatus) {
        self.writes.land_status();
        self.know(status);
    }

    /// Marks the current retry request as outdated, because the object needs no retry now.
    pub fn see_retry_request(&mut self, retry_requested: Option<&str>) {
        if self.retry_seen.as_deref() != retry_requested {
            self.retry_seen = retry_requested.map(SharedText::from);
        }
    }

    /// Returns true if there is a new retry request.
    #[must_use]
    pub fn retry_is_requested(&self, retry_requested: Option<&str>) -> bool {
        retry_requested.is_some() && self.retry_seen.as_deref() != retry_requested
    }

    /// Returns the end of the delay after a correction that could not be sent; `None` if there is none, or if a new
    /// retry was requested.
    #[must_use]
    pub fn unsent_until(&self, retry_requested: Option<&str>, now: Moment) -> Option<Moment> {
        let is_asked_for =
            self.retry_is_requested(retry_requested) && self.retry_answered.as_deref() != retry_requested;
        Some(self.delay.unsent_until()).filter(|until| now < *until && !is_asked_for)
    }

    /// Takes in the object as seen now. Its state may end a doubt or make a retry request outdated.
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
        // A verdict on a deleting object is older than its deletion, whose outcome may be in doubt.
        if reason == Some(ObservedReason::InSync) && !object.deleting {
            self.delay.end_doubt();
        }
        let used_up = current.as_ref().is_some_and(|current| current.tag.unhealed >= allowed_attempts);
        // A failed poll does not show if another replacement is needed.
        let exhausted = || {
            let record = object.conditions.correction_status();
            let is_unseen = record.unseen_create(current.as_ref()).is_some();
            used_up || self.delay.lost_something() || record.replaced || record.exists.is_some() || is_unseen
        };
        let drifted = reason.is_some_and(|reason| reason.status() != ConditionStatus::False);
        let is_unclear = object.conditions.correction_status().reason == Some(CorrectedReason::DeletionUnclear);
        if !(drifted && exhausted() || is_unclear || self.delay.could_not_send()) {
            let waits = reason.is_some_and(|reason| reason.status() == ConditionStatus::True) || object.deleting;
            if waits && self.retry_is_requested(object.retry_requested()) {
                self.delay.hasten();
            }
            self.see_retry_request(object.retry_requested());
        }
    }

    /// Adopts a status with a higher correction number than ours: an earlier process wrote it, or we did and the
    /// response was lost. A claim is not adopted, because its writer may still take it back.
    fn adopt_status(&mut self, object: &LeanObject) {
        let known = self.written.as_ref().map(|written| written.correction);
        let current = object.conditions.corrected().and_then(CorrectionStatus::read);
        let current = current.filter(|status| status.reason != Some(CorrectedReason::CorrectionStarted));
        if let Some(status) = current.filter(|status| known.is_none_or(|known| status.correction > known)) {
            self.know(status);
        }
    }

    /// Records a status as known to be, or to be treated as, the one on the object. A status with another correction
    /// number ends the doubt: the next correction has its own number, and a poll comes before it.
    pub fn know(&mut self, status: CorrectionStatus) {
        if self.written.as_ref().map_or(0, |written| written.correction) < status.correction {
            self.delay.forget_doubt();
        }
        self.written = status.reason.is_some().then(|| Box::new(status));
    }

    /// Resets delays on an edit or a deletion, because earlier attempts say little about the new state.
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

/// Returns true if a request for a retry was written after the record of a create in doubt. Each such create is recorded
/// before it is sent, which changes the status of the condition, so that no process answers a request a second time.
fn is_unanswered(object: &LeanObject, request: &str) -> bool {
    let recorded = object.conditions.corrected().map(|record| &record.last_transition_time);
    let is_in_doubt = object.conditions.correction_status().reason == Some(CorrectedReason::CreationInDoubt);
    is_in_doubt && recorded.is_some_and(|recorded| TransitionTime::from(request).is_later_than(recorded))
}

/// Returns true if another writer must have removed the written status. A status with a higher correction number is
/// newer, and may have given up a claim.
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
