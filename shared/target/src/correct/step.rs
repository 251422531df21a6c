//! One request of a correction.

use http::Method;

use crate::cel::Scope;
use crate::http::request::{RequestTemplate, read_request};
use crate::http::statuses::{StatusSet, read_accept};
use crate::raw::Reader;
use crate::yaml::Node;

/// Requests of one correction: it is one try, not a program.
const MAX_STEPS: usize = 16;

/// One request of a correction.
#[derive(Debug)]
pub struct HttpStep {
    /// What is sent: POST, PUT, PATCH or DELETE.
    pub request: RequestTemplate,
    /// Statuses that mean done; default 200–299, and always 404 and 410 for a step of a deletion.
    pub accept: StatusSet,
    /// Statuses that mean that the resource is gone, for a step of a deletion; any other that is accepted means that it
    /// is under way. The same as `accept` where the target says nothing, and for all other steps.
    pub done_on: StatusSet,
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
            Self::Writing => &["method", "url", "headers", "body", "form", "text", "accept"],
            Self::Deleting => &["method", "url", "headers", "body", "form", "text", "accept", "doneOn"],
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
    let method = reader.required(&fields, "method").and_then(|node| {
        // By index: a Method cannot be copied.
        let methods = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let choices = [("POST", 0), ("PUT", 1), ("PATCH", 2), ("DELETE", 3)];
        methods.into_iter().nth(reader.choice(node, &fields.place("method"), &choices)?)
    });
    let site = reader.site(place, Scope::Correction);
    let request = read_request(reader, &fields, method, &site);
    let accept = reader.or(&fields, "accept", StatusSet::success(), read_accept);
    let done_on = reader.optional(&fields, "doneOn", read_accept);
    let (accept, done_on) = purpose.settle(accept?, done_on?);
    Some(HttpStep { request: request?, accept, done_on })
}
