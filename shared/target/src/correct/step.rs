//! One request of a correction.

use http::{HeaderName, Method};

use crate::cel::{EvaluationError, Scope, Site, TextTemplate, UrlTemplate, ValueTemplate, Variables};
use crate::http::headers::read_headers;
use crate::http::request::{Templates, read_url};
use crate::http::statuses::{StatusSet, read_accept};
use crate::raw::Reader;
use crate::templates::read_value;
use crate::yaml::Node;
use drift_model::field_paths::FieldPaths;
use drift_model::http_request::HttpRequest;

/// Requests of one correction: it is one try, not a program.
const MAX_STEPS: usize = 16;

/// One request of a correction.
#[derive(Debug)]
pub struct HttpStep {
    /// POST, PUT, PATCH or DELETE.
    pub method: Method,
    /// Where.
    pub url: UrlTemplate,
    /// Extra headers.
    pub headers: Vec<(HeaderName, TextTemplate)>,
    /// JSON body.
    pub body: Option<ValueTemplate>,
    /// Statuses that mean done; default 200–299, and always 404 and 410 for a step of a deletion.
    pub accept: StatusSet,
    /// Statuses that mean that the resource is gone, for a step of a deletion; any other that is accepted means that it
    /// is under way. The same as `accept` where the target says nothing, and for all other steps.
    pub done_on: StatusSet,
}

impl HttpStep {
    /// The request of this step, without its credential and idempotency key.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object.
    pub fn render(&self, variables: &Variables<'_>) -> Result<HttpRequest, EvaluationError> {
        let templates =
            Templates { method: &self.method, url: &self.url, headers: &self.headers, body: self.body.as_ref() };
        templates.render(variables)
    }

    pub(super) fn collect_fields(&self, fields: &mut FieldPaths) {
        fields.extend(&self.url.fields());
        self.headers.iter().for_each(|(_, template)| fields.extend(&template.fields()));
        self.body.iter().for_each(|template| fields.extend(&template.fields()));
    }
}

/// What the steps of an action are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Writing,
    Deleting,
}

impl Purpose {
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Writing => &["method", "url", "headers", "body", "accept"],
            Self::Deleting => &["method", "url", "headers", "body", "accept", "doneOn"],
        }
    }

    /// What a step accepts and what means done. What is gone already need not be deleted, and what means done is
    /// accepted.
    fn settle(self, accept: StatusSet, done_on: Option<StatusSet>) -> (StatusSet, StatusSet) {
        let gone = || StatusSet(vec![404..=404, 410..=410]);
        let accept = if self == Self::Deleting { accept.and(&gone()) } else { accept };
        match done_on {
            None => (accept.clone(), accept),
            Some(done_on) => (accept.and(&done_on), done_on.and(&gone())),
        }
    }
}

pub(super) fn read_steps(reader: &mut Reader<'_>, node: &Node, place: &str, purpose: Purpose) -> Option<Vec<HttpStep>> {
    let items = reader.items(node, place, 1..=MAX_STEPS)?;
    let steps: Vec<Option<HttpStep>> = items
        .iter()
        .enumerate()
        .map(|(position, item)| read_step(reader, item, &format!("{place}[{position}]"), purpose))
        .collect();
    steps.into_iter().collect()
}

fn read_step(reader: &mut Reader<'_>, node: &Node, place: &str, purpose: Purpose) -> Option<HttpStep> {
    let fields = reader.fields(node, place, purpose.keys())?;
    let site = |place: &str| Site::new(place, Scope::Correction);
    let method = reader.required(&fields, "method").and_then(|node| {
        // By index: a Method cannot be copied.
        let methods = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let choices = [("POST", 0), ("PUT", 1), ("PATCH", 2), ("DELETE", 3)];
        methods.into_iter().nth(reader.choice(node, &fields.place("method"), &choices)?)
    });
    let url = reader.required(&fields, "url").and_then(|node| read_url(reader, node, &site(&fields.place("url"))));
    let headers =
        reader.or(&fields, "headers", Vec::new(), |reader, node, place| read_headers(reader, node, &site(place)));
    let body = reader.optional(&fields, "body", |reader, node, place| read_value(reader, node, &site(place)));
    let accept = reader.or(&fields, "accept", StatusSet::success(), read_accept);
    let done_on = reader.optional(&fields, "doneOn", read_accept);
    let (accept, done_on) = purpose.settle(accept?, done_on?);
    Some(HttpStep { method: method?, url: url?, headers: headers?, body: body?, accept, done_on })
}
