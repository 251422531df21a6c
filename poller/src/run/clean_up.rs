//! What the poller leaves on objects: its verdict, which is taken away once no target selects them.
//!
//! It must not know when that is.

use std::sync::Arc;

use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_kube::cleanup::Cleaner;
use drift_kube::client::ResolvedKind;
use drift_kube::client::WriteError;

use crate::run::context::Context;

/// Takes verdicts away.
pub(crate) struct VerdictCleaner(pub(crate) Arc<Context>);

impl Cleaner for VerdictCleaner {
    const OUTCOME: &'static str = "cleaned";

    fn is_marked(&self, object: &LeanObject) -> bool {
        object.conditions.observed.is_some()
    }

    async fn clean(&self, kind: &ResolvedKind, object: LeanObject, _: bool) -> Result<(), WriteError> {
        let Some(placed) = &object.conditions.observed else { return Ok(()) };
        let writer = self.0.writer(kind.clone(), FieldPaths::default());
        let slot = writer.slots.enter().await;
        writer.remove_condition(&slot, &object, placed).await.map(drop)
    }
}
