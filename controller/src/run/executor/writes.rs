//! Writes of an execution to its object, and the reports about them.

use drift_api::condition::{CorrectedReason, CorrectionStatus, StatusFields};
use drift_api::object::LeanObject;
use drift_api::object::status_patch::{condition_patch, removal_patch};
use drift_kube::process::clock;
use drift_kube::process::kill_point::reach;
use drift_kube::{CallSlot, KillPoint, WriteError};

use super::{Executor, Run};
use crate::engine::corrections::finalizer_patches::{put_patch, release_patch};
use crate::engine::execution::{Event, Failure, Purpose, Write};
use crate::run::metrics::WriteLabels;

impl Run<'_> {
    pub(super) async fn write(&mut self, object: &LeanObject, write: &Write) -> Event {
        let call = match self.call.take() {
            Some(call) => call,
            None => self.executor.writer.slots.enter().await,
        };
        let (before, after) = kill_points(write);
        reach(before);
        let (kind, written) = self.executor.write(&call, object, write).await;
        reach(after);
        // After other writes, nothing may follow for a while.
        self.call = Some(call).filter(|_| written.is_ok() && write.precedes_request());
        let outcome = written.as_ref().map_or_else(WriteError::as_label, |_| "written");
        self.executor.metrics.writes.get_or_create(&WriteLabels { kind, outcome }).inc();
        self.tell(object, write, &written);
        Event::Written(written.map(Box::new).map_err(failure))
    }

    /// Reports the result of a write to people.
    fn tell(&mut self, object: &LeanObject, write: &Write, written: &Result<LeanObject, WriteError>) {
        let (announcer, kind) = (&self.executor.announcer, &self.executor.writer.kind);
        match (write, written) {
            (Write::Outcome(status, _), Ok(written)) => announcer.status(kind, written, status),
            // The object is in sync again without a correction. The poller reports that.
            (Write::Status(status, Purpose::Other), Ok(written))
                if status.reason != Some(CorrectedReason::CorrectionApplied) =>
            {
                announcer.status(kind, written, status);
            }
            // An object that only waited for our finalizer is gone after the write.
            (Write::ReleaseFinalizer { left_behind: true }, Ok(_) | Err(WriteError::Gone)) => {
                announcer.left_behind(kind, object);
            }
            (Write::Outcome(status, _), Err(WriteError::Refused(sentence))) if !self.told_of_refusal => {
                self.told_of_refusal = true;
                announcer.write_refused(kind, object, (status.correction, sentence));
            }
            (_, Err(cause @ (WriteError::Unavailable(_) | WriteError::NotLeading))) => {
                let (target, kind) = (&self.executor.target.name, &*kind.resource.kind);
                let (namespace, name) = (object.id.namespace.as_deref(), &*object.id.name);
                let correction = match write {
                    Write::Outcome(status, _) | Write::Status(status, _) => status.correction,
                    _ => object.conditions.correction(),
                };
                let uid = &*object.id.uid;
                tracing::warn!(
                    target,
                    kind,
                    namespace,
                    name,
                    uid,
                    correction,
                    %cause,
                    "a write to the API server failed"
                );
            }
            _ => {}
        }
    }
}

impl Executor {
    /// Performs one write. Also returns its label for the metric.
    async fn write(
        &self,
        call: &CallSlot,
        object: &LeanObject,
        write: &Write,
    ) -> (&'static str, Result<LeanObject, WriteError>) {
        let writer = &self.writer;
        match write {
            Write::PutFinalizer(_) => ("finalizer", writer.patch(call, object, put_patch(object)).await),
            Write::ReleaseFinalizer { .. } => {
                let written = match release_patch(object) {
                    Some(patch) => writer.patch(call, object, patch).await,
                    None => Err(WriteError::Moved),
                };
                ("finalizer_release", written)
            }
            Write::Status(status, _) => self.write_status(call, object, status, &StatusFields::NONE).await,
            Write::Outcome(status, stored) => self.write_status(call, object, status, stored).await,
        }
    }

    async fn write_status(
        &self,
        call: &CallSlot,
        object: &LeanObject,
        status: &CorrectionStatus,
        stored: &StatusFields,
    ) -> (&'static str, Result<LeanObject, WriteError>) {
        let placed = object.conditions.corrected.as_deref();
        let (kind, patch) = match (status.to_condition(object.conditions.corrected(), &clock::wall_seconds()), placed) {
            // The status names the generation acted on, so the write does not test the current generation.
            (Some(condition), _) => ("note", condition_patch(object, None, &condition, stored)),
            (None, Some(placed)) => ("note_removal", removal_patch(object, placed)),
            (None, None) => return ("note_removal", Err(WriteError::Moved)),
        };
        (kind, self.writer.patch_status(call, object, patch).await)
    }
}

const fn kill_points(write: &Write) -> (KillPoint, KillPoint) {
    match write {
        Write::PutFinalizer(_) => (KillPoint::ControllerBeforeFinalizer, KillPoint::ControllerAfterFinalizer),
        Write::ReleaseFinalizer { .. } => (KillPoint::ControllerBeforeRelease, KillPoint::ControllerAfterRelease),
        Write::Status(_, Purpose::Claim) => (KillPoint::ControllerBeforeClaim, KillPoint::ControllerAfterClaim),
        Write::Status(..) | Write::Outcome(..) => (KillPoint::ControllerBeforeNote, KillPoint::ControllerAfterNote),
    }
}

fn failure(error: WriteError) -> Failure {
    match error {
        WriteError::Moved => Failure::Moved,
        WriteError::Gone => Failure::Gone,
        WriteError::Refused(sentence) => Failure::Refused(sentence),
        WriteError::Unavailable(_) => Failure::Unavailable,
        WriteError::NotLeading => Failure::NotLeading,
    }
}
