//! What the poller leaves on objects: its verdict, which is taken away once no target selects them.
//!
//! It must not know when that is.

use drift_cluster::cleanup::Cleaner;
use drift_cluster::client::{ObjectClient, WriteError};
use drift_cluster::kinds::ResolvedKind;
use drift_cluster::lease::Leadership;
use drift_cluster::object_writer::{CallSlots, ObjectWriter};
use drift_model::field_paths::FieldPaths;
use drift_model::object::LeanObject;

/// Takes verdicts away.
pub(crate) struct VerdictCleaner {
    /// The way to the objects.
    pub(crate) objects: ObjectClient,
    /// Whether we lead, asked before each write.
    pub(crate) leadership: Leadership,
    /// The limit of calls.
    pub(crate) slots: CallSlots,
}

impl Cleaner for VerdictCleaner {
    const OUTCOME: &'static str = "cleaned";

    fn is_marked(&self, object: &LeanObject) -> bool {
        object.conditions.observed.is_some()
    }

    async fn clean(&self, kind: &ResolvedKind, object: LeanObject, _: bool) -> Result<(), WriteError> {
        let Some(placed) = &object.conditions.observed else { return Ok(()) };
        let writer = ObjectWriter {
            objects: self.objects.clone(),
            kind: kind.clone(),
            fields: FieldPaths::default(),
            leadership: self.leadership.clone(),
            slots: self.slots.clone(),
        };
        let slot = writer.slots.enter().await;
        writer.remove_condition(&slot, &object, placed).await.map(drop)
    }
}
