//! The first request of a poll, whatever the external system speaks, rendered of the object as templates see it.
//!
//! It carries no credential: that is added when a request is sent.

use drift_api::object::cluster_resource::ClusterResource;
use drift_api::object::object_view::ObjectView;
use drift_api::requests::http_request::HttpRequest;
use drift_api::requests::sql_query::SqlQuery;
use drift_language::cel::EvaluationError;
use drift_language::{Source, Target};
use serde_json::Value;

use crate::engine::judgement::comparison::absent;
use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::judgement::rendered::rule_error;

/// The first request of a read.
#[derive(Clone, Debug)]
pub enum Request {
    /// To an HTTP server.
    Http(HttpRequest),
    /// To a PostgreSQL server.
    Sql(SqlQuery),
    /// To the API server.
    Kubernetes(ClusterResource),
}

impl Request {
    /// All of it that the external system sees: two that differ in nothing of it ask the same.
    #[must_use]
    pub fn fingerprint(&self) -> Vec<u8> {
        match self {
            Self::Http(request) => of_http(request),
            Self::Sql(query) => format!("{query:?} {:?}", query.parameters).into_bytes(),
            Self::Kubernetes(resource) => resource.to_string().into_bytes(),
        }
    }
}

fn of_http(request: &HttpRequest) -> Vec<u8> {
    let mut key = format!("{} {}", request.method, request.url).into_bytes();
    for (name, value) in &*request.headers {
        key.extend_from_slice(b"\n");
        key.extend_from_slice(name.as_str().as_bytes());
        key.extend_from_slice(b":");
        key.extend_from_slice(value.as_bytes());
    }
    key.extend_from_slice(b"\n\n");
    key.extend_from_slice(request.body.as_deref().unwrap_or_default());
    key
}

/// The first request of an object's polls, or what can be said without one.
#[derive(Debug)]
pub struct Prepared {
    first: Result<Request, Found>,
}

impl Prepared {
    /// Renders the request for the object as templates see it.
    #[must_use]
    pub fn of(target: &Target, view: &ObjectView) -> Self {
        Self { first: first_request(target, &view.open()) }
    }

    /// The first request.
    ///
    /// # Errors
    /// What is found without one.
    pub const fn first(&self) -> Result<&Request, &Found> {
        self.first.as_ref()
    }
}

/// The first request of a poll of the object; what can be said without one is found at once.
///
/// # Errors
/// What is found: a template cannot be evaluated for this object, or the resource cannot exist yet.
pub fn first_request(target: &Target, view: &Value) -> Result<Request, Found> {
    let failed = |error: EvaluationError| Found::from(Finding::Failed(rule_error(&error)));
    match &target.read.source {
        Source::Http(read) if !read.may_exist(view).map_err(failed)? => Err(absent(target)),
        Source::Http(read) => read.render(view).map(Request::Http).map_err(failed),
        Source::Postgres(read) => read.render(view).map(Request::Sql).map_err(failed),
        Source::Kubernetes(read) => read.render(view).map(Request::Kubernetes).map_err(failed),
    }
}
