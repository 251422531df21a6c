//! The entries of collections that belong to no object, shown at `/unnamed`.
//!
//! They are shown by name and never corrected or deleted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_api::secrets::secret_texts::REDACTED;
use drift_language::Target;
use drift_systems::SentCredentials;
use serde_json::{Value, json};

use crate::engine::collection::requests::Unnamed;
use crate::engine::judgement::credentials::Credentials;

/// Entries by target name.
type UnnamedByTarget = BTreeMap<String, (Arc<Target>, Unnamed)>;

/// The entries without an object, by target. Clones share state.
#[derive(Clone, Debug, Default)]
pub struct UnnamedEntries {
    known: Arc<Mutex<UnnamedByTarget>>,
    secrets: Arc<ArcSwap<LabelledSecrets>>,
}

impl UnnamedEntries {
    /// Creates an empty list. Values of these Secrets are never shown as names.
    #[must_use]
    pub fn new(secrets: Arc<ArcSwap<LabelledSecrets>>) -> Self {
        Self { known: Arc::default(), secrets }
    }

    /// Sets the entries of the target's collection.
    pub fn set(&self, target: &Arc<Target>, unnamed: Unnamed) {
        self.lock().insert(target.name.clone(), (target.clone(), unnamed));
    }

    /// Removes a target that has stopped.
    pub fn forget(&self, target: &str) {
        self.lock().remove(target);
    }

    /// Returns the routes.
    pub fn pages(&self) -> Router {
        Router::new().route("/unnamed", get(page)).with_state(self.clone())
    }

    /// Returns the JSON of the page.
    #[must_use]
    pub fn shown(&self) -> Value {
        let known = self.lock().clone();
        let line = |(target, unnamed): &(Arc<Target>, Unnamed)| {
            let credentials = Credentials::of(target, self.secrets.load_full(), SentCredentials::default());
            let names = credentials.values().conceal(&json!(unnamed.names), REDACTED);
            json!({"target": target.name, "count": unnamed.count, "names": names})
        };
        known.values().map(line).collect()
    }

    fn lock(&self) -> MutexGuard<'_, UnnamedByTarget> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn page(State(entries): State<UnnamedEntries>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], entries.shown().to_string())
}
