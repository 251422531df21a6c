//! What stands in collections and belongs to no object, for people: the page `/unnamed`.
//!
//! Names only, and nothing is ever done about them. It must not know how they were found.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::{Value, json};

use crate::core::traversals::Unnamed;

/// The entries without an object, by target. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct UnnamedEntries(Arc<Mutex<BTreeMap<String, Unnamed>>>);

impl UnnamedEntries {
    /// What the target's collection holds now.
    pub fn set(&self, target: &str, unnamed: Unnamed) {
        self.lock().insert(target.to_owned(), unnamed);
    }

    /// The target is not at work any more.
    pub fn forget(&self, target: &str) {
        self.lock().remove(target);
    }

    /// The page.
    pub fn pages(&self) -> Router {
        Router::new().route("/unnamed", get(page)).with_state(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Unnamed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn page(State(entries): State<UnnamedEntries>) -> impl IntoResponse {
    let line = |(target, unnamed): (&String, &Unnamed)| json!({"target": target, "count": unnamed.count, "names": unnamed.names});
    let lines: Value = entries.lock().iter().map(line).collect();
    ([(header::CONTENT_TYPE, "application/json")], lines.to_string())
}
