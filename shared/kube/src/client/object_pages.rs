//! The objects of one kind in some namespaces, lean, page by page: a single look without a watch.
//!
//! This file must not know what is looked for.

use std::collections::VecDeque;

use crate::client::ResolvedKind;
use crate::client::pages::Pages;
use crate::client::{CallError, LeanObjects};
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, SeenObject};

/// One look at the objects of a kind.
pub struct ObjectPages {
    lists: VecDeque<Pages<LeanObjects>>,
}

impl ObjectPages {
    /// A look at these namespaces (none: all), keeping `fields` of each object. Nothing is asked for yet.
    #[must_use]
    pub fn new(client: &kube::Client, kind: &ResolvedKind, namespaces: &[String], fields: FieldPaths) -> Self {
        let decode = LeanObjects::new(kind.clone(), fields);
        let paths = kind.paths(namespaces).into_iter();
        let lists = paths.map(|path| Pages::new(client.clone(), &path, None, decode.clone())).collect();
        Self { lists }
    }

    /// The next page; `None` after the last. A page may be empty.
    ///
    /// # Errors
    /// When the API server does not answer or refuses; the look is then to be begun anew.
    pub async fn next(&mut self) -> Result<Option<Vec<LeanObject>>, CallError> {
        let page = self.next_seen().await?;
        Ok(page.map(|page| page.into_iter().map(|seen| seen.object).collect()))
    }

    /// The same with the labels of each object.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn next_seen(&mut self) -> Result<Option<Vec<SeenObject>>, CallError> {
        while let Some(list) = self.lists.front_mut() {
            match list.next().await? {
                Some(page) => return Ok(Some(page.items)),
                None => _ = self.lists.pop_front(),
            }
        }
        Ok(None)
    }
}
