//! The objects of one kind in some namespaces, lean, page by page: a single look without a watch.
//!
//! This file must not know what is looked for.

use std::collections::VecDeque;

use serde_json::Value;

use crate::client::CallError;
use crate::client::pages::Pages;
use crate::kinds::ResolvedKind;
use crate::watch::objects::{complete, paths};
use drift_model::field_paths::FieldPaths;
use drift_model::object::LeanObject;

/// One look at the objects of a kind.
pub struct ObjectPages {
    kind: ResolvedKind,
    fields: FieldPaths,
    lists: VecDeque<Pages>,
}

impl ObjectPages {
    /// A look at these namespaces (none: all), keeping `fields` of each object. Nothing is asked for yet.
    #[must_use]
    pub fn new(client: &kube::Client, kind: &ResolvedKind, namespaces: &[String], fields: FieldPaths) -> Self {
        let lists = paths(kind, namespaces).into_iter().map(|path| Pages::new(client.clone(), &path, None));
        Self { kind: kind.clone(), fields, lists: lists.collect() }
    }

    /// The next page; `None` after the last. A page may be empty.
    ///
    /// # Errors
    /// When the API server does not answer or refuses; the look is then to be begun anew.
    pub async fn next(&mut self) -> Result<Option<Vec<LeanObject>>, CallError> {
        while let Some(list) = self.lists.front_mut() {
            match list.next().await? {
                Some(page) => return Ok(Some(page.items.into_iter().map(|object| self.prune(object)).collect())),
                None => _ = self.lists.pop_front(),
            }
        }
        Ok(None)
    }

    fn prune(&self, mut object: Value) -> LeanObject {
        complete(&mut object, &self.kind);
        LeanObject::prune(&object, &self.fields)
    }
}
