//! Objects of one kind with our finalizer, in the namespaces that targets select or selected.

use std::collections::BTreeSet;

use anyhow::Context as _;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_kube::cleanup::namespaces_of;
use drift_kube::{KindError, KindName, ObjectPages, ResolvedKind, Selections};

/// Scope of the search for one kind.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) client: &'a kube::Client,
    pub(super) notes: &'a Selections,
    pub(super) name: &'a KindName,
}

/// Returns the kinds in the recorded selections.
pub(super) fn kinds_of(notes: &Selections) -> BTreeSet<KindName> {
    notes.iter().map(|(selection, _)| selection.kind_name()).collect()
}

impl Search<'_> {
    /// Resolves the kind. Returns `None` if no served version has it, because then no objects exist.
    pub(super) async fn locate(&self) -> anyhow::Result<Option<ResolvedKind>> {
        match self.notes.locate(self.client, self.name).await {
            Ok(kind) => Ok(Some(kind)),
            Err(KindError::Missing { .. }) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("looking {} up", self.name.kind)),
        }
    }

    pub(super) async fn held(&self, kind: &ResolvedKind) -> anyhow::Result<Vec<LeanObject>> {
        let namespaces = namespaces_of(self.notes.of_kind(self.name));
        let mut pages = ObjectPages::new(self.client, kind, &namespaces, FieldPaths::default());
        let mut held = Vec::new();
        while let Some(page) = pages.next().await.with_context(|| format!("listing {}", kind.resource.plural))? {
            held.extend(page.into_iter().filter(LeanObject::has_finalizer));
        }
        Ok(held)
    }
}
