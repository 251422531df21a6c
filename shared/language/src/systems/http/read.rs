//! `read.http`: reads the observed state with one or more HTTP requests, in order.

use serde_json::Value;

use crate::cel::evaluation::constants::MAX_RENDERED_BYTES;
use crate::cel::{
    EvaluationError, Expression, Expressions as _, HEADERS, Node as ValueNode, Scope, Site, ValueTemplate, Variables,
};
use crate::secrets::needed_secret::{Credential, NeededSecret};
use crate::systems::http::auth::needed_secrets::{credentials, needed_secrets};
use crate::systems::http::auth::{Auth, read_auth};
use crate::systems::http::collection::{COLLECTION_KEYS, Collection, read_collection};
use crate::systems::http::insecure::check_credentials;
use crate::systems::http::read_step::{Absence, REQUEST_KEYS, ReadStep, Turn, read_step, read_steps};
use crate::systems::http::request::headers::read_headers;
use crate::systems::http::request::rendered::HttpRequest;
use crate::systems::http::scope::scope_of;
use crate::systems::http::socket::read_socket;
use crate::systems::http::tls::{Tls, read_tls};
use crate::systems::keys::Keys;
use crate::systems::section::ReadSection;
use crate::systems::steps::{Role, VisitParts, expressions_of};
use crate::yaml::durations::{KIB, MIB, size};
use crate::yaml::{Fields, Node, Reader, expression, read_value};
use drift_api::names::CREDENTIAL_POLLER;

/// Default limit of a response. A REST response about one resource has a few KiB.
const DEFAULT_MAX_BYTES: usize = MIB;

/// A read by HTTP requests.
#[derive(Debug)]
pub struct HttpRead {
    /// The first request. Later ones see its response.
    pub first: ReadStep,
    /// The requests after [`HttpRead::first`], in order.
    pub further: Vec<ReadStep>,
    /// The poller's credential.
    pub auth: Option<Auth>,
    /// A private CA and a client certificate.
    pub tls: Option<Tls>,
    /// The collection, if its request returns all objects at once.
    pub collection: Option<Collection>,
    /// While this is false, the resource is absent and no request is sent.
    pub absent_until: Option<Expression>,
    /// Rule that accepts a genuine response. Default: a top-level key of a map `desired` occurs in the observed state.
    pub valid_when: Option<Expression>,
    /// Rule that recognizes a response to any of the requests as throttling.
    pub limited_when: Option<Expression>,
    /// Rule that detects a change in progress at the external system.
    pub settling_when: Option<Expression>,
    /// Maps the responses to the observed state. Default `${response.body}`.
    pub observed: ValueTemplate,
    /// Limit of each response's decoded body, in bytes; default 1 MiB.
    pub max_bytes: usize,
    /// True if the result may depend on response headers.
    pub sees_headers: bool,
}

impl HttpRead {
    /// All requests, in order.
    pub fn steps(&self) -> impl Iterator<Item = &ReadStep> {
        std::iter::once(&self.first).chain(&self.further)
    }

    /// Renders the first request for the object's external resource, without its credential.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, object: &Value) -> Result<HttpRequest, EvaluationError> {
        self.first.request.render(&Variables::of_object(object))
    }

    /// Returns false while the object cannot have a resource yet.
    ///
    /// # Errors
    /// Fails if `absentUntil` cannot be evaluated for this object.
    pub fn may_exist(&self, object: &Value) -> Result<bool, EvaluationError> {
        self.absent_until.as_ref().map_or(Ok(true), |rule| rule.evaluate_bool(&Variables::of_object(object)))
    }
}

impl ReadSection for HttpRead {
    fn place(&self) -> [&'static str; 2] {
        ["http", if self.first.name.is_some() { "steps" } else { "url" }]
    }

    fn scope(&self, spec: &Node) -> String {
        scope_of(&self.first.request, spec)
    }

    fn hosts(&self) -> Vec<String> {
        let host = |step: &ReadStep| match &step.request.socket {
            Some(socket) => format!("unix:{socket}"),
            None => step.request.url.host().to_owned(),
        };
        self.steps().map(host).collect()
    }

    fn observed(&self) -> &ValueTemplate {
        &self.observed
    }

    fn keys(&self) -> Option<&Keys> {
        self.collection.as_ref().map(|collection| &collection.keys)
    }

    /// In a collection, the rule judges the page, not the entry.
    fn judges_answers(&self) -> bool {
        self.valid_when.is_some() && self.collection.is_none()
    }

    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        for step in self.steps() {
            visit(Role::Address, &step.request);
            if let Absence::When(rule) = &step.absence {
                visit(Role::Answer, rule);
            }
        }
        if let Some(collection) = &self.collection {
            visit(Role::Key, &collection.keys);
            visit(Role::Answer, &collection.absent_when);
        }
        visit(Role::Presence, &self.absent_until);
        visit(Role::Answer, &self.valid_when);
        visit(Role::Answer, &self.settling_when);
        visit(Role::Answer, &self.observed);
    }

    fn credentials(&self) -> Vec<Credential> {
        credentials(self.auth.as_ref(), self.tls.as_ref())
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        let requests = self.steps().map(|step| &step.request);
        needed_secrets(CREDENTIAL_POLLER, self.auth.as_ref(), self.tls.as_ref(), requests)
    }

    fn check_credentials(&self, reader: &mut Reader<'_>, spec: &Node) {
        let requests = self.steps().map(|step| &step.request);
        check_credentials(reader, spec, "read", self.auth.as_ref(), requests);
    }
}

/// Keys of `read.http` besides those of its request.
const HTTP_KEYS: &[&str] = &[
    "steps",
    "socket",
    "auth",
    "tls",
    "absentUntil",
    "limitedWhen",
    "validWhen",
    "settlingWhen",
    "observed",
    "maxBytes",
];

pub(crate) fn read_http(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HttpRead> {
    let known: Vec<&str> = REQUEST_KEYS.iter().chain(HTTP_KEYS).chain(COLLECTION_KEYS).copied().collect();
    let fields = reader.fields(node, place, &known)?;
    let collection = read_collection(reader, &fields);
    let is_collection = fields.get("each").is_some();
    reader.names_mut().socket = reader.optional(&fields, "socket", read_socket)?;
    let steps = read_requests(reader, &fields, is_collection);
    reader.names_mut().socket = None;
    let auth = reader.optional(&fields, "auth", read_auth);
    let tls = reader.optional(&fields, "tls", read_tls);
    let absent_until = reader.optional(&fields, "absentUntil", expression(Scope::Object));
    let limited_when = reader.optional(&fields, "limitedWhen", expression(Scope::Page));
    // The scopes of a rule about a whole page, and about the entry of one object.
    let (whole, single) = if is_collection { (Scope::Page, Scope::Item) } else { (Scope::Response, Scope::Response) };
    let valid_when = reader.optional(&fields, "validWhen", expression(whole));
    let settling_when = reader.optional(&fields, "settlingWhen", expression(single));
    let site = reader.site(&fields.place("observed"), single);
    let observed = match fields.get("observed") {
        Some(node) => read_value(reader, node, &site),
        None => default_observed(is_collection, site),
    };
    let max_bytes = reader.or(&fields, "maxBytes", DEFAULT_MAX_BYTES, |reader, node, place| {
        size(reader, node, place, KIB..=MAX_RENDERED_BYTES)
    });
    reader.names_mut().steps.clear();
    let (first, further) = steps?;
    let mut read = HttpRead {
        first,
        further,
        auth: auth?,
        tls: tls?,
        collection: collection?,
        absent_until: absent_until?,
        limited_when: limited_when?,
        valid_when: valid_when?,
        settling_when: settling_when?,
        observed: observed?,
        max_bytes: max_bytes?,
        sees_headers: false,
    };
    read.sees_headers = expressions_of(|visit| read.visit_parts(visit), |_| true).reads(HEADERS);
    match fields.get("tls") {
        Some(tls) if !read.steps().any(|step| step.request.url.is_https()) => {
            reader.refuse(tls.at, format!("{place}.tls: the URL is not https"))
        }
        _ => Some(read),
    }
}

/// Reads one request, or a list of them.
fn read_requests(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    is_collection: bool,
) -> Option<(ReadStep, Vec<ReadStep>)> {
    let Some(node) = fields.get("steps") else {
        let turn = if is_collection { Turn::Page } else { Turn::First };
        return read_step(reader, fields, turn).map(|step| (step, Vec::new()));
    };
    if is_collection {
        let message = format!("{}: a collection is one request and its pages; write url", fields.place("steps"));
        return reader.refuse(node.at, message);
    }
    let is_beside = |key: &str| REQUEST_KEYS.contains(&key) && key != "headers";
    let mut beside = fields.entries().iter().filter(|entry| is_beside(&entry.key));
    if let Some(entry) = beside.next() {
        let message = format!("{}: beside steps it stands in each of them", fields.place(&entry.key));
        reader.refuse::<()>(entry.key_at, message);
    }
    let headers = reader.or(fields, "headers", Vec::new(), |reader, node, place| {
        let site = reader.site(place, Scope::Object);
        read_headers(reader, node, &site)
    });
    let (mut steps, headers) = (read_steps(reader, node, &fields.place("steps"))?, headers?);
    steps.iter_mut().for_each(|step| step.request.inherit(&headers));
    let mut steps = steps.into_iter();
    Some((steps.next()?, steps.collect()))
}

/// Returns `${response.body}`, or `${item}` for a collection.
fn default_observed(is_collection: bool, site: Site) -> Option<ValueTemplate> {
    let text = if is_collection { "${item}" } else { "${response.body}" };
    Some(ValueTemplate::new(ValueNode::parse(text, &site).ok()?, site))
}
