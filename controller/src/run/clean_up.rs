//! Clean-up of objects that no target selects any more. The finalizer is removed within seconds, because it blocks
//! deletions; the condition is removed later.
//!
//! Nothing is deleted in the external system, and an Event reports that.

use std::sync::Arc;

use drift_api::condition::CorrectionStatus;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::status_patch::removal_patch;
use drift_kube::process::kill_point::reach;
use drift_kube::{Cleaner, KillPoint, KindName, ResolvedKind, Stage, WriteError};

use crate::engine::corrections::finalizer_patches::release_patch;
use crate::run::context::Context;
use crate::run::notices::Announcer;

/// Removes the controller's marks from unselected objects: the finalizer first, so that an object without the condition
/// is never blocked by it.
pub(crate) struct MarkCleaner(pub(crate) Arc<Context>);

impl Cleaner for MarkCleaner {
    fn is_marked(&self, object: &LeanObject, stage: Stage) -> bool {
        object.has_finalizer() || (stage == Stage::Last && object.conditions.corrected.is_some())
    }

    fn needs_note(&self, object: &LeanObject) -> bool {
        let may_claim = |condition| CorrectionStatus::read(condition).is_none_or(|status| status.claim.is_some());
        // A finalizer and a claim need their target. Another record of the controller holds nothing.
        object.has_finalizer() || object.conditions.corrected().is_some_and(may_claim)
    }

    async fn clean(
        &self,
        kind: &ResolvedKind,
        mut object: LeanObject,
        stage: Stage,
        is_first_try: bool,
    ) -> Result<(), WriteError> {
        if object.has_finalizer() {
            reach(KillPoint::ControllerAfterLiveRead);
            object = match release(&self.0, kind, &object, is_first_try).await {
                // The object was only waiting for our finalizer.
                Err(WriteError::Gone) => return Ok(()),
                released => released?,
            };
        }
        let placed = object.conditions.corrected.as_ref().filter(|_| stage == Stage::Last);
        let Some(placed) = placed else { return Ok(()) };
        self.0.ensure_may_act()?;
        let writer = self.0.writer(kind.clone(), FieldPaths::default());
        let call = writer.slots.enter().await;
        writer.patch_status(&call, &object, removal_patch(&object, placed)).await.map(drop)
    }
}

async fn release(
    context: &Context,
    kind: &ResolvedKind,
    object: &LeanObject,
    is_first_try: bool,
) -> Result<LeanObject, WriteError> {
    context.ensure_may_act()?;
    let patch = release_patch(object).ok_or(WriteError::Moved)?;
    let writer = context.writer(kind.clone(), FieldPaths::default());
    let call = writer.slots.enter().await;
    reach(KillPoint::ControllerBeforeRelease);
    let written = writer.patch(&call, object, patch).await;
    reach(KillPoint::ControllerAfterRelease);
    if let Some(announcer) = announcer(context, kind, object) {
        match &written {
            Ok(_) | Err(WriteError::Gone) => announcer.left_behind(kind, object),
            Err(WriteError::Refused(sentence)) if is_first_try => {
                announcer.write_refused(kind, object, (object.conditions.correction(), sentence))
            }
            Err(_) => {}
        }
    }
    written
}

/// Returns the announcer of a recorded target that may have selected the object.
fn announcer(context: &Context, kind: &ResolvedKind, object: &LeanObject) -> Option<Announcer> {
    let name = KindName::new(&kind.resource.api_version, &kind.resource.kind);
    let namespace = object.id.namespace.as_deref();
    context.notes.read(|noted| {
        let (selection, note) = noted.iter().find(|(selection, _)| selection.covers(&name, namespace))?;
        Some(Announcer::of_noted(context.events.clone(), (selection, &note.config_map), &context.home))
    })
}
