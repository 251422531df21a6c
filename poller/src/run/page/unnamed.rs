//! The entries of collections without an object, shown at `/unnamed`.
//!
//! Names only, and nothing is ever done about them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::Target;
use drift_systems::SentCredentials;
use serde_json::{Value, json};

use crate::engine::collection::requests::Unnamed;
use crate::engine::judgement::credentials::Credentials;
use crate::engine::judgement::description::REDACTED;

/// By the names of the targets.
type UnnamedByTarget = BTreeMap<String, (Arc<Target>, Unnamed)>;

/// The entries without an object, by target. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct UnnamedEntries {
    known: Arc<Mutex<UnnamedByTarget>>,
    secrets: Arc<ArcSwap<LabelledSecrets>>,
}

impl UnnamedEntries {
    /// None; of these Secrets none is ever shown as a name.
    #[must_use]
    pub fn new(secrets: Arc<ArcSwap<LabelledSecrets>>) -> Self {
        Self { known: Arc::default(), secrets }
    }

    /// Sets the entries of the target's collection.
    pub fn set(&self, target: &Arc<Target>, unnamed: Unnamed) {
        self.lock().insert(target.name.clone(), (target.clone(), unnamed));
    }

    /// The target is not at work any more.
    pub fn forget(&self, target: &str) {
        self.lock().remove(target);
    }

    /// The page.
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
