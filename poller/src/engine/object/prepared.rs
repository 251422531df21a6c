//! What a poll of one object begins with, rendered of the object as templates see it.
//!
//! It carries no credential: that is added when a request is sent. This file must not know when an object is polled.

use drift_api::object::object_view::ObjectView;
use drift_language::cel::EvaluationError;
use drift_language::{Source, Target};
use serde_json::Value;

use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::judgement::rendered::{Rendered, rule_error};
use crate::engine::poll::http_reply::{Observation, absent};
use crate::engine::poll::request::Request;

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

    /// The first request of a poll that nothing bars.
    ///
    /// # Errors
    /// What is observed without one.
    pub fn asked(&self, rendered: &Rendered) -> Result<&Request, Observation> {
        if let Some(rejected) = &rendered.rejected {
            return Err(Observation::Failed((**rejected).clone()));
        }
        self.first().map_err(|found| match &found.finding {
            Finding::Failed(failure) => Observation::Failed(failure.clone()),
            _ => Observation::Absent,
        })
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
