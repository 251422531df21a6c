//! Writes to one kind of objects: notes and finalizers, each onto exactly the state that it was decided for.
//!
//! A note is put in place of the very note that stood: whoever wrote another meanwhile, even another process of ours,
//! makes it fail. This file must not know what notes mean or when a finalizer is due.

use std::sync::Arc;

use drift_cluster::client::{ObjectClient, WriteError};
use drift_cluster::kinds::ResolvedKind;
use drift_cluster::lease::Leadership;
use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::condition::{CorrectionStatus, PatchBase, Placed, condition_patch, removal_patch};
use drift_model::field_paths::FieldPaths;
use drift_model::object::{LeanObject, ObjectId};
use json_patch::Patch;
use tokio::sync::Semaphore;

use crate::core::finalizer::{put_patch, release_patch};
use crate::metrics::{Metrics, WriteLabels};

/// Calls under way at once, over all targets: enough that an API server that answers within 50 ms takes its 600
/// status patches a second, and far below its limit of requests in flight.
pub const CONCURRENT_CALLS: usize = 32;

/// Reads and writes objects of one kind.
#[derive(Clone, Debug)]
pub struct Pen {
    /// The way to the objects.
    pub objects: ObjectClient,
    /// Their kind.
    pub kind: ResolvedKind,
    /// What is kept of an answer.
    pub fields: FieldPaths,
    /// Whether we still lead: a process that was stopped between a look and a write must not go on with it.
    pub leadership: Leadership,
    /// The limit over all targets.
    pub slots: Arc<Semaphore>,
    /// Where writes are counted.
    pub metrics: Metrics,
}

impl Pen {
    /// Reads an object live; `None` where it is gone.
    ///
    /// # Errors
    /// When the API server does not answer or refuses.
    pub async fn read(&self, id: &ObjectId) -> Result<Option<LeanObject>, WriteError> {
        let _slot = self.slot().await;
        self.objects.read(&self.kind, id, &self.fields).await
    }

    /// Reads live, until the API server answers, an object of which a list and what is known say different things.
    pub async fn read_anew(&self, known: &LeanObject) -> Option<LeanObject> {
        self.objects.read_anew(&self.kind, known, &self.fields).await
    }

    /// Writes a status in place of the one that stands on `object`, or removes that.
    ///
    /// # Errors
    /// [`WriteError`]: `Moved` also where another note stands by now.
    pub async fn write_status(&self, object: &LeanObject, status: &CorrectionStatus) -> Result<LeanObject, WriteError> {
        let placed = object.conditions.corrected.as_ref();
        let Some(condition) = status.to_condition(object.conditions.corrected(), &clock::wall_seconds()) else {
            return self.remove_note(object).await;
        };
        let patch = condition_patch(&base(object), placed, &condition);
        self.patch_status("note", object, patch).await
    }

    /// Puts back what stood before a claim was laid.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn restore(&self, object: &LeanObject, before: Option<&Placed>) -> Result<LeanObject, WriteError> {
        let Some(before) = before else { return self.remove_note(object).await };
        let placed = object.conditions.corrected.as_ref();
        let patch = condition_patch(&base(object), placed, &before.condition);
        self.patch_status("note", object, patch).await
    }

    /// Removes the note that stands on `object`.
    ///
    /// # Errors
    /// [`WriteError`]; `Moved` where none stands.
    pub async fn remove_note(&self, object: &LeanObject) -> Result<LeanObject, WriteError> {
        let placed = object.conditions.corrected.as_ref().ok_or(WriteError::Moved)?;
        let patch = removal_patch(&base(object), placed);
        self.patch_status("note_removal", object, patch).await
    }

    /// Puts our finalizer on.
    ///
    /// # Errors
    /// [`WriteError`]: `Moved` where the object is not exactly as it was read.
    pub async fn put_finalizer(&self, object: &LeanObject) -> Result<LeanObject, WriteError> {
        reach(KillPoint::ControllerBeforeFinalizer);
        let written = self.patch("finalizer", object, put_patch(object)).await;
        reach(KillPoint::ControllerAfterFinalizer);
        written
    }

    /// Takes our finalizer off.
    ///
    /// # Errors
    /// [`WriteError`]; `Moved` where it does not stand where it was read.
    pub async fn release_finalizer(&self, object: &LeanObject) -> Result<LeanObject, WriteError> {
        let patch = release_patch(object).ok_or(WriteError::Moved)?;
        reach(KillPoint::ControllerBeforeRelease);
        let written = self.patch("finalizer_release", object, patch).await;
        reach(KillPoint::ControllerAfterRelease);
        written
    }

    async fn patch_status(
        &self,
        kind: &'static str,
        object: &LeanObject,
        patch: Patch,
    ) -> Result<LeanObject, WriteError> {
        let _slot = self.slot().await;
        self.ensure_leading()?;
        let written = self.objects.patch_status(&self.kind, &object.id, patch, &self.fields).await;
        self.count(kind, &written);
        written
    }

    async fn patch(&self, kind: &'static str, object: &LeanObject, patch: Patch) -> Result<LeanObject, WriteError> {
        let _slot = self.slot().await;
        self.ensure_leading()?;
        let written = self.objects.patch(&self.kind, &object.id, patch, &self.fields).await;
        self.count(kind, &written);
        written
    }

    fn ensure_leading(&self) -> Result<(), WriteError> {
        if self.leadership.is_held() { Ok(()) } else { Err(WriteError::NotLeading) }
    }

    /// Nobody closes the semaphore; were it closed, writing without its limit would be right.
    async fn slot(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        self.slots.acquire().await.ok()
    }

    fn count(&self, kind: &'static str, written: &Result<LeanObject, WriteError>) {
        let outcome = written.as_ref().map_or_else(WriteError::as_label, |_| "written");
        self.metrics.writes.get_or_create(&WriteLabels { kind, outcome }).inc();
    }
}

/// A note speaks of the generation acted on, so it does not insist on the present one.
fn base(object: &LeanObject) -> PatchBase<'_> {
    PatchBase {
        uid: &object.id.uid,
        resource_version: &object.resource_version,
        generation: None,
        conditions: &object.conditions,
    }
}
