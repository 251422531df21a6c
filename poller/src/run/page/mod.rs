//! The page for people on the admin port, and the same as JSON: targets and their objects, as they stand now.
//!
//! It only shows; nothing can be changed here. Whoever reaches the port reads the names and conditions of all objects, as whoever may
//! list them does.

mod content;
mod html;
pub mod unnamed;

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use drift_kube::config::Configuration;
use drift_kube::lease::Leadership;
use drift_kube::telemetry::questions::{self, Crowded};
use tokio::sync::watch;

use crate::engine::object::overview::{Question, TargetOverview};
use crate::run::attestation::AttestationList;
use content::{Content, parse};

/// Only what this program itself serves is loaded, sent to, or run; nothing may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";

/// Routes queries to the targets at work.
pub type Board = questions::Board<Question, TargetOverview>;
/// A question to a target.
pub type Asked = questions::Asked<Question, TargetOverview>;

/// The sources of the status page.
#[derive(Clone)]
pub struct Page {
    /// The targets at work.
    pub board: Board,
    /// The active targets.
    pub configuration: watch::Receiver<Arc<Configuration>>,
    /// Those that are attested.
    pub attestations: AttestationList,
    /// The leadership of this replica.
    pub leadership: Leadership,
    /// The command that finds the leader.
    pub leader_command: String,
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

    async fn content(&self, question: Question) -> Result<Content, Crowded> {
        let answers = self.board.ask(question.clone()).await?;
        let configuration = self.configuration.borrow().clone();
        let leader_elsewhere = (!self.leadership.is_held()).then(|| self.leader_command.clone());
        Ok(Content { leader_elsewhere, ..Content::new(question, &configuration, &self.attestations, &answers) })
    }

    async fn answer(&self, question: Question, kind: &'static str, text: impl FnOnce(&Content) -> String) -> Response {
        match self.content(question).await {
            Ok(content) => answer(kind, text(&content)),
            Err(crowded) => crowded.into_response(),
        }
    }
}

async fn page(State(page): State<Page>, RawQuery(query): RawQuery) -> Response {
    page.answer(parse(&query.unwrap_or_default()), "text/html; charset=utf-8", html::page).await
}

async fn targets(State(page): State<Page>) -> Response {
    page.answer(Question::default(), "application/json", |content| content.targets_json().to_string()).await
}

async fn objects(State(page): State<Page>, RawQuery(query): RawQuery) -> Response {
    let text = |content: &Content| content.objects_json().to_string();
    page.answer(parse(&query.unwrap_or_default()), "application/json", text).await
}

fn answer(kind: &'static str, text: String) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, text).into_response()
}
