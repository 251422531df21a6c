//! One write of `driftObserved`: the patch goes out, and what became of it comes back.
//!
//! A patch that finds the object moved reads it live, so that the verdict can be judged again on what is really
//! there. Thin: whether and when to write is the core's business.

use std::sync::Arc;

use drift_cluster::client::{ObjectClient, WriteError};
use drift_cluster::kinds::ResolvedKind;
use drift_cluster::lease::Leadership;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::condition::{Condition, PatchBase, condition_patch};
use drift_model::field_paths::FieldPaths;
use drift_model::object::LeanObject;
use tokio::sync::Semaphore;

use crate::core::write_attempts::WriteOutcome;

/// Writes under way at once, over all targets: enough to keep an API server busy that answers within 50 ms at its
/// 600 status patches a second, and far below its limit of requests in flight.
pub const CONCURRENT_WRITES: usize = 32;

/// Said of an object that is there and whose status is not.
const WITHOUT_STATUS: &str =
    "the API server finds the object and not its /status; its kind has to have the status subresource";

/// How one write ended.
#[derive(Debug)]
pub struct WriteResult {
    /// The state that the write was based on.
    pub before: LeanObject,
    /// The condition that was to be written.
    pub condition: Condition,
    /// The newest state we know of: the answer of the write, or what was read live after a lost race.
    pub object: Option<LeanObject>,
    /// What the state machine is told.
    pub outcome: WriteOutcome,
    /// The sentence of a refusal, for people.
    pub refusal: Option<String>,
    /// The word for the metric.
    pub word: &'static str,
}

impl WriteResult {
    fn not_begun(before: LeanObject, condition: Condition) -> Self {
        Self { before, condition, object: None, outcome: WriteOutcome::Refused, refusal: None, word: "not_leading" }
    }
}

/// Writes conditions on the objects of one kind.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// The way to the objects.
    pub objects: ObjectClient,
    /// Their kind.
    pub kind: ResolvedKind,
    /// What is kept of an answer.
    pub fields: FieldPaths,
    /// The limit over all targets.
    pub slots: Arc<Semaphore>,
    /// Whether we lead.
    pub leadership: Leadership,
}

impl Recorder {
    /// Writes `condition` onto the state `before`, and onto no other.
    pub async fn write(&self, before: LeanObject, condition: Condition) -> WriteResult {
        // Nobody closes the semaphore; were it closed, writing without its limit would be right.
        let _slot = self.slots.acquire().await.ok();
        if !self.leadership.is_held() {
            // A process that slept through the loss of its Lease finds out here, before any task told it.
            return WriteResult::not_begun(before, condition);
        }
        let base = PatchBase {
            uid: &before.id.uid,
            resource_version: &before.resource_version,
            generation: before.generation,
            conditions: &before.conditions,
        };
        let patch = condition_patch(&base, before.conditions.observed.as_ref(), &condition);
        reach(KillPoint::PollerBeforeCondition);
        let written = self.objects.patch_status(&self.kind, &before.id, patch, &self.fields).await;
        reach(KillPoint::PollerAfterCondition);
        let (object, outcome, refusal, word) = match written {
            Ok(object) => (Some(object), WriteOutcome::Written, None, "written"),
            Err(WriteError::Moved) => (self.read_again(&before).await, WriteOutcome::Moved, None, "moved"),
            Err(WriteError::Gone) => self.look_for(&before).await,
            Err(WriteError::Unavailable(sentence)) => {
                tracing::warn!(object = %before.id, "cannot write driftObserved: {sentence}");
                (None, WriteOutcome::Refused, None, "unavailable")
            }
            Err(WriteError::NotLeading) => (None, WriteOutcome::Refused, None, "not_leading"),
            Err(WriteError::Refused(sentence)) => (None, WriteOutcome::Refused, Some(sentence), "refused"),
        };
        let object = object.map(|object| object.read_after(&before));
        WriteResult { before, condition, object, outcome, refusal, word }
    }

    /// Whether an object that cannot be found for a write is gone: it is not if only its `/status` was taken away.
    async fn look_for(&self, before: &LeanObject) -> (Option<LeanObject>, WriteOutcome, Option<String>, &'static str) {
        match self.objects.read(&self.kind, &before.id, &self.fields).await {
            Ok(None) => (None, WriteOutcome::Moved, None, "gone"),
            Ok(object) => (object, WriteOutcome::Refused, Some(WITHOUT_STATUS.to_owned()), "refused"),
            Err(_) => (None, WriteOutcome::Refused, None, "unavailable"),
        }
    }

    /// The object as it is; where even that fails, the watch will tell.
    async fn read_again(&self, before: &LeanObject) -> Option<LeanObject> {
        self.objects.read(&self.kind, &before.id, &self.fields).await.ok().flatten()
    }
}
