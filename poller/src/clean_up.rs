//! What the poller leaves on objects: its verdict, which is taken away once no target selects them.
//!
//! It must not know when that is.

use drift_cluster::cleanup::Cleaner;
use drift_cluster::client::{ObjectClient, WriteError};
use drift_cluster::kinds::ResolvedKind;
use drift_cluster::lease::Leadership;
use drift_model::condition::{PatchBase, removal_patch};
use drift_model::field_paths::FieldPaths;
use drift_model::object::LeanObject;

/// Takes verdicts away.
pub(crate) struct VerdictCleaner {
    /// The way to the objects.
    pub(crate) objects: ObjectClient,
    /// Whether we lead, asked before each write.
    pub(crate) leadership: Leadership,
}

impl Cleaner for VerdictCleaner {
    fn is_marked(&self, object: &LeanObject) -> bool {
        object.conditions.observed.is_some()
    }

    async fn clean(&self, kind: &ResolvedKind, object: LeanObject) -> Result<(), WriteError> {
        let Some(placed) = &object.conditions.observed else { return Ok(()) };
        if !self.leadership.is_held() {
            return Err(WriteError::NotLeading);
        }
        let base = PatchBase {
            uid: &object.id.uid,
            resource_version: &object.resource_version,
            generation: None,
            conditions: &object.conditions,
        };
        let patch = removal_patch(&base, placed);
        self.objects.patch_status(kind, &object.id, patch, &FieldPaths::default()).await.map(drop)
    }
}
