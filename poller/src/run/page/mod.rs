//! The status page on the admin port, and its content as JSON: targets and their objects with their conditions.
//!
//! The page is read-only. Everyone who reaches the port can read the names and conditions of all objects.

mod compression;
mod content;
mod controller_holds;
mod html;
pub mod unnamed;

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use drift_kube::process::clock;
use drift_kube::telemetry::questions;
use drift_kube::{Configuration, Crowded, Health, Leadership};
use tokio::sync::watch;

use crate::engine::object::overview::{LeaseHolds, Question, TargetOverview};
use crate::run::attestation::AttestationList;
pub use content::SiteNames;
use content::{Content, NotActive, Signal, parse};
use controller_holds::ControllerHolds;
pub use controller_holds::ControllerLease;

/// Content security policy: the browser loads, contacts and runs nothing but this program's own routes, and no page may frame it.
/// The script draws one icon itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Routes queries to the active targets.
pub type Board = questions::Board<Question, TargetOverview>;
/// A query to a target.
pub type Asked = questions::Asked<Question, TargetOverview>;

/// The sources of the status page.
#[derive(Clone)]
pub struct Page {
    /// The running targets.
    pub board: Board,
    /// The active targets.
    pub configuration: watch::Receiver<Arc<Configuration>>,
    /// The attested targets.
    pub attestations: AttestationList,
    /// The leadership of this replica.
    pub leadership: Leadership,
    /// The command that finds the leader.
    pub leader_command: String,
    /// The controller's Lease.
    pub controller: ControllerLease,
    /// The state of this program's parts.
    pub health: Health,
    /// The names of this installation.
    pub site: SiteNames,
}

impl Page {
    /// Returns the routes of the page.
    pub fn routes(self) -> Router {
        let asset = |kind: &'static str, text: &'static str| get(move || async move { answer(kind, text.to_owned()) });
        let mut router = Router::new();
        for signal in Signal::ALL {
            router = router.route(&format!("/icon-{}.svg", signal.as_str()), get(move || async move { icon(signal) }));
        }
        router
            .route("/", get(page))
            .route("/targets", get(targets))
            .route("/objects", get(objects))
            .route("/page.css", asset("text/css; charset=utf-8", include_str!("page.css")))
            .route("/page.js", asset("text/javascript; charset=utf-8", include_str!("page.js")))
            .with_state(self)
            .layer(from_fn(compression::compress))
    }

    async fn content(&self, question: Question) -> Result<Content, Crowded> {
        let leads = self.leadership.is_held();
        // A standby shows no objects.
        let holds = if leads { self.controller.holds().await } else { ControllerHolds::default() };
        let mut attested = self.attestations.subscribe().borrow().attested.clone();
        attested.retain(|target, _| self.attestations.is_written(target));
        let attested = attested.into_iter().map(|(name, listed)| (name, listed.attestation)).collect();
        let known = LeaseHolds { attested: Some(attested), controller: holds.held.clone(), ..LeaseHolds::default() };
        let question = Question { holds: Arc::new(known), ..question };
        let answers = self.board.ask(question.clone()).await?;
        let configuration = self.configuration.borrow().clone();
        let unready = self.health.parts().into_iter().filter_map(|part| Some((part.name, part.trouble?)));
        Ok(Content {
            leader_elsewhere: (!leads).then(|| self.leader_command.clone()),
            site: self.site.clone(),
            unready: unready.collect(),
            not_active: NotActive::of(&configuration.problems),
            unread_holds: holds.notice(),
            ..Content::new((question, clock::wall()), configuration.targets.values(), &answers)
        })
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

fn icon(signal: Signal) -> Response {
    answer("image/svg+xml", html::icon(signal))
}

async fn targets(State(page): State<Page>) -> Response {
    page.answer(Question::default(), "application/json", |content| content.targets_json().to_string()).await
}

async fn objects(State(page): State<Page>, RawQuery(query): RawQuery) -> Response {
    let text = |content: &Content| content.objects_json().to_string();
    // Programs read single objects. People look at groups.
    let question = Question { single: true, ..parse(&query.unwrap_or_default()) };
    page.answer(question, "application/json", text).await
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
