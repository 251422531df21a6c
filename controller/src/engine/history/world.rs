//! The world of one object: its state in the API, the external resources, the controller's memory, and the actions of
//! people and other writers.

use drift_api::{CorrectedReason, CorrectionStatus, DesiredHash, LeanObject, Moment, Placed, TransitionTime, Verdict};
use drift_language::Existing;
use serde_json::json;

use super::event::{Answer, Scope};
use crate::engine::corrections::{Correction, Outcome};
use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::fixtures::{at, bare_object, facts, target};
use crate::engine::memory::ObjectMemory;

/// The external resource of one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) value: u8,
    /// True if another party created it while the object claimed nothing.
    pub(super) foreign: bool,
    /// True if we created it and no poll that began since has written a verdict.
    pub(super) unread: bool,
}

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) key: String,
    /// Content of the request: the number of the correction, the value and the hash of the target's steps.
    pub(super) body: (u64, u8, u64),
    pub(super) definite: bool,
}

pub(super) struct World {
    pub(super) object: LeanObject,
    pub(super) spec: u8,
    pub(super) outside: [Option<Resource>; 2],
    pub(super) scope: Scope,
    /// True if the poller has written no verdict since the scope was edited, so that it attests nothing.
    pub(super) moved: bool,
    pub(super) poll: Option<(Option<i64>, u64, Verdict)>,
    /// The object's K at the start of the poll whose verdict is current.
    pub(super) verified: u64,
    pub(super) memory: ObjectMemory,
    pub(super) target: TargetFacts,
    pub(super) attested: bool,
    pub(super) now: Moment,
    pub(super) requests: Vec<Request>,
    /// Number of corrections that could not be sent.
    pub(super) unsent: usize,
    pub(super) writes: usize,
    pub(super) overtaken: u8,
    pub(super) lost_races: usize,
    pub(super) crashed: bool,
    /// True once the object is deleted.
    pub(super) gone: bool,
    /// True if another writer removed the status and the process crashed before it could restore it, so that the
    /// claim is lost.
    pub(super) claim_lost: bool,
    pub(super) status_refused: bool,
    /// An outcome that the API server refuses to store, which blocks other corrections.
    pub(super) unrecorded: Option<(Correction, Outcome)>,
    /// The last drift verdict, which another writer may restore.
    pub(super) old_verdict: Option<Placed>,
    /// The newest transition time that this process saw. The next field is the time since when an older one is
    /// on the object.
    pub(super) newest_seen: TransitionTime,
    pub(super) replayed_at: Option<Moment>,
    /// Reaction of the external system to deletions of replacements.
    pub(super) deletion: Answer,
    /// The largest K ever written. With a smaller K, the programs start over.
    pub(super) highest: u64,
    /// True if we created or changed a resource since the last poll began.
    pub(super) made: bool,
    /// True if a poll result was written since the last request.
    pub(super) polled: bool,
    /// True if our resource was deleted before the finalizer was removed. Resources that appear after that are foreign.
    pub(super) deleted_outside: bool,
}

impl World {
    pub(super) fn new(existing: Existing, outside: Option<u8>) -> Self {
        Self::with_two(existing, [outside, None])
    }

    pub(super) fn with_two(existing: Existing, outside: [Option<u8>; 2]) -> Self {
        Self {
            object: bare_object(),
            spec: 1,
            outside: outside.map(|value| value.map(|value| Resource { value, foreign: true, unread: false })),
            scope: Scope::Here,
            moved: false,
            poll: None,
            verified: 0,
            memory: ObjectMemory::of(&bare_object(), at(0)),
            target: TargetFacts { existing, ..target() },
            attested: true,
            now: at(0),
            requests: Vec::new(),
            unsent: 0,
            writes: 0,
            overtaken: 0,
            lost_races: 0,
            crashed: false,
            gone: false,
            claim_lost: false,
            status_refused: false,
            unrecorded: None,
            old_verdict: None,
            newest_seen: TransitionTime::default(),
            replayed_at: None,
            deletion: Answer::Done,
            highest: 0,
            made: false,
            polled: false,
            deleted_outside: false,
        }
    }

    /// Returns the wall-clock time in the format of conditions.
    pub(super) fn time(&self) -> String {
        let seconds = self.now.since_start().as_secs();
        let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
        format!("2026-01-{:02}T{hours:02}:{:02}:{:02}Z", days + 1, seconds / 60 % 60, seconds % 60)
    }

    pub(super) fn desired_hash(&self) -> DesiredHash {
        DesiredHash::of(&json!(self.spec))
    }

    pub(super) fn facts(&self) -> ObjectFacts {
        ObjectFacts { desired_hash: Some(self.desired_hash()), ..facts() }
    }

    pub(super) fn status(&self) -> CorrectionStatus {
        self.memory.status_of(&self.object)
    }

    pub(super) fn owns_in(&self, scope: Scope) -> bool {
        self.status().owned().is_some_and(|owned| owned.scope == Some(scope.id()))
    }

    pub(super) fn edit(&mut self, value: u8) {
        if value != self.spec {
            self.spec = value;
            self.object.generation = self.object.generation.map(|generation| generation + 1);
        }
    }

    /// Restarts the poller's judgement: it attests only verdicts from after the edit.
    pub(super) fn set_scope(&mut self, scope: Scope) {
        if self.scope != scope {
            self.scope = scope;
            self.target.scope = scope.id();
            self.moved = true;
            self.poll = None;
            self.old_verdict = None;
        }
    }

    /// Deletes the object. A finalizer delays the removal.
    pub(super) fn delete(&mut self) {
        self.object.deleting = true;
        self.gone = !self.object.has_finalizer();
    }

    /// Removes the status as another writer. A new process does not adopt `CorrectionStarted`, so a claim and K that
    /// are removed before the interruption is recorded are lost.
    pub(super) fn take_note(&mut self) {
        let before = self.status();
        self.object.conditions.corrected = None;
        if before.reason == Some(CorrectedReason::CorrectionStarted) {
            self.read_everything();
            let after = self.status();
            self.claim_lost |= before.owned().is_some() && after.owned().is_none();
            self.verified = self.verified.min(after.correction);
        }
    }

    /// Restores an old verdict. If the status was removed and the process crashed, only the verdict holds K, so an
    /// older verdict means an older K.
    pub(super) fn replay(&mut self) {
        let Some(verdict) = self.old_verdict.clone() else { return };
        self.object.conditions.observed = Some(verdict);
        if self.crashed {
            self.verified = self.verified.min(self.status().correction);
        }
    }

    /// Restarts the poller and the process. Cleaned-up resources become foreign.
    pub(super) fn readd_target(&mut self, cleaned: bool) {
        self.poll = None;
        self.claim_lost |= self.memory.lost_status(&self.object).is_some();
        self.memory.forget_status();
        if cleaned {
            self.object.conditions.observed = None;
            self.object.conditions.corrected = None;
            self.object.finalizers = Box::default();
            self.gone = self.object.deleting;
            // The poller attests no verdict from before the target returned.
            self.old_verdict = None;
            self.outside.iter_mut().flatten().for_each(|resource| resource.foreign = true);
        }
        // The new list delivers the object with its current status.
        self.observe();
        self.forget();
    }

    pub(super) fn restart(&mut self) {
        self.newest_seen = TransitionTime::default();
        self.replayed_at = None;
        self.claim_lost |= self.memory.lost_status(&self.object).is_some();
        self.memory = ObjectMemory::of(&self.object, self.now);
        self.forget();
    }

    /// Restarts with the K that the conditions contain. A larger K is lost.
    pub(super) fn forget(&mut self) {
        self.unrecorded = None;
        self.crashed = true;
        if self.object.conditions.correction() < self.highest {
            self.read_everything();
        }
        self.verified = self.verified.min(self.object.conditions.correction());
    }

    /// Delivers the object to the process.
    pub(super) fn observe(&mut self) {
        self.memory.observe(&self.object, Some(self.desired_hash()), self.target.limits.attempts, self.now);
    }
}
