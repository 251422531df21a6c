//! The page for people on the admin port, and the same as JSON: targets and their objects, as they stand now.
//!
//! It only shows; nothing can be changed here. Whoever reaches the port reads the names and conditions of all objects, as
//! whoever may list them does. It must not know how drift is judged.

mod content;
mod html;

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::IntoResponse;
use axum::routing::get;
use drift_cluster::config::Configuration;
use drift_cluster::lease::Leadership;
use drift_cluster::telemetry::questions;
use tokio::sync::watch;

use crate::core::overview::{Question, TargetOverview};
use crate::in_force::InForceList;
use content::{Content, Query};

/// Only what this program itself serves is loaded, sent to, or run; nothing may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// Where the targets at work are asked.
pub type Board = questions::Board<Question, TargetOverview>;
/// A question to a target.
pub type Asked = questions::Asked<Question, TargetOverview>;

/// What the page is made from.
#[derive(Clone)]
pub struct Page {
    /// The targets at work.
    pub board: Board,
    /// The targets in force.
    pub configuration: watch::Receiver<Arc<Configuration>>,
    /// Those that are vouched for.
    pub in_force: InForceList,
    /// Whether this replica polls.
    pub leadership: Leadership,
}

impl Page {
    /// The routes.
    pub fn routes(self) -> Router {
        let asset = |kind: &'static str, text: &'static str| get(move || async move { answer(kind, text.to_owned()) });
        Router::new()
            .route("/", get(page))
            .route("/targets", get(targets))
            .route("/objects", get(objects))
            .route("/page.css", asset("text/css; charset=utf-8", include_str!("page.css")))
            .route("/page.js", asset("text/javascript; charset=utf-8", include_str!("page.js")))
            .with_state(self)
    }

    async fn content(&self, query: Option<String>) -> Content {
        let query = Query::parse(&query.unwrap_or_default());
        let answers = self.board.ask(query.question.clone()).await;
        let configuration = self.configuration.borrow().clone();
        let in_force = self.in_force.subscribe().borrow().clone();
        Content { leading: self.leadership.is_held(), ..Content::new(query, &configuration, &in_force, answers) }
    }
}

async fn page(State(page): State<Page>, RawQuery(query): RawQuery) -> impl IntoResponse {
    answer("text/html; charset=utf-8", html::page(&page.content(query).await))
}

async fn targets(State(page): State<Page>, RawQuery(query): RawQuery) -> impl IntoResponse {
    answer("application/json", page.content(query).await.targets_json().to_string())
}

async fn objects(State(page): State<Page>, RawQuery(query): RawQuery) -> impl IntoResponse {
    answer("application/json", page.content(query).await.objects_json().to_string())
}

fn answer(kind: &'static str, text: String) -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, text)
}
