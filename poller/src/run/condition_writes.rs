//! Writes of `driftObserved`, and its removal from objects that no target selects any more.
//!
//! If the object changed before the patch, it is read live, so that the engine can judge the verdict against the
//! current state. The engine decides on the writes and their times.

use std::sync::Arc;

use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::status_patch::removal_patch;
use drift_api::unwritten::UnwrittenWord;
use drift_kube::access::lacks_right;
use drift_kube::process::kill_point::reach;
use drift_kube::{CallSlot, Cleaner, KillPoint, ObjectWriter, ResolvedKind, Stage, WriteError};

use crate::engine::EndedWrite;
use crate::engine::object::object_state::Update;
use crate::engine::writes::write_attempts::{Refusal, WriteOutcome};
use crate::run::context::Context;

/// Message for an object that exists without a status.
const WITHOUT_STATUS: &str =
    "the API server finds the object and not its /status; its kind has to have the status subresource";

/// Writes a verdict of this target.
pub async fn write(writer: &ObjectWriter, target: &str, update: Update) -> EndedWrite {
    let Update { object: before, patch } = update;
    let slot = writer.slots.enter().await;
    reach(KillPoint::PollerBeforeCondition);
    let written = writer.patch_status(&slot, &before, patch).await;
    reach(KillPoint::PollerAfterCondition);
    let (object, outcome) = match written {
        Ok(object) => (Some(object), WriteOutcome::Written),
        Err(WriteError::Moved) => match writer.read(&slot, &before.id).await {
            Ok(live) => (live, WriteOutcome::Moved),
            // The watch will deliver the object.
            Err(_) => (None, WriteOutcome::MovedUnread),
        },
        Err(WriteError::Gone) => look_for(writer, &slot, &before).await,
        Err(WriteError::Unavailable(cause)) => {
            let (namespace, name) = (before.id.namespace.as_deref(), &*before.id.name);
            let (kind, uid) = (&*writer.kind.resource.kind, &*before.id.uid);
            tracing::warn!(target, kind, namespace, name, uid, %cause, "cannot write driftObserved");
            (None, WriteOutcome::Unavailable)
        }
        Err(WriteError::NotLeading) => (None, WriteOutcome::NotLeading),
        Err(WriteError::Refused(sentence)) => (None, WriteOutcome::Refused(refusal(sentence))),
    };
    let object = object.map(|object| object.read_after(&before).kept_as(&before));
    EndedWrite { before, object, outcome }
}

fn refusal(sentence: String) -> Refusal {
    let word = if lacks_right(&sentence) { UnwrittenWord::RightsMissing } else { UnwrittenWord::WriteRefused };
    Refusal { sentence, word }
}

/// Checks if an object that a write did not find is gone, or only lost its `/status`.
async fn look_for(writer: &ObjectWriter, slot: &CallSlot, before: &LeanObject) -> (Option<LeanObject>, WriteOutcome) {
    match writer.read(slot, &before.id).await {
        Ok(None) => (None, WriteOutcome::Gone),
        Ok(object) => (object, WriteOutcome::Refused(refusal(WITHOUT_STATUS.to_owned()))),
        Err(_) => (None, WriteOutcome::Unavailable),
    }
}

/// Removes the verdict from objects that no target selects.
pub(crate) struct VerdictCleaner(pub(crate) Arc<Context>);

impl Cleaner for VerdictCleaner {
    fn is_marked(&self, object: &LeanObject, _: Stage) -> bool {
        object.conditions.observed.is_some()
    }

    async fn clean(&self, kind: &ResolvedKind, object: LeanObject, _: Stage, _: bool) -> Result<(), WriteError> {
        let Some(placed) = &object.conditions.observed else { return Ok(()) };
        let writer = self.0.writer(kind.clone(), FieldPaths::default());
        let slot = writer.slots.enter().await;
        writer.patch_status(&slot, &object, removal_patch(&object, placed)).await.map(drop)
    }
}
