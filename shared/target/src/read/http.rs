//! `read.http`: the real state by a request to an HTTP server.

use http::{HeaderName, Method};
use serde_json::Value;

use crate::cel::limits::MAX_RENDERED_BYTES;
use crate::cel::{
    EvaluationError, Expression, Node as ValueNode, Scope, Site, TextTemplate, UrlTemplate, ValueTemplate, Variables,
};
use crate::durations::{KIB, MIB, size};
use crate::http::auth::{Auth, read_auth};
use crate::http::headers::read_headers;
use crate::http::request::{Templates, read_url};
use crate::http::statuses::{StatusSet, read_accept};
use crate::http::tls::{Tls, read_tls};
use crate::raw::Reader;
use crate::templates::{read_expression, read_value};
use crate::yaml::Node;
use drift_model::field_paths::FieldPaths;
use drift_model::http_request::HttpRequest;

/// Default cap on an answer: a REST answer about one resource is a few KiB.
const DEFAULT_MAX_BYTES: usize = MIB;

/// A read by HTTP.
#[derive(Debug)]
pub struct HttpRead {
    /// GET (default), HEAD or POST.
    pub method: Method,
    /// Where.
    pub url: UrlTemplate,
    /// Extra headers.
    pub headers: Vec<(HeaderName, TextTemplate)>,
    /// JSON body, for POST.
    pub body: Option<ValueTemplate>,
    /// The credential.
    pub auth: Option<Auth>,
    /// A private CA.
    pub tls: Option<Tls>,
    /// Statuses that carry an observation; default 200–299.
    pub accept: StatusSet,
    /// Says that the resource is absent; default 404 or 410.
    pub absent_when: Option<Expression>,
    /// Tells a real answer from another's; default: a top-level key of a map `desired` occurs in what is observed.
    pub valid_when: Option<Expression>,
    /// Says that the external system is still at work.
    pub settling_when: Option<Expression>,
    /// Maps the answer to what is compared; default `${response.body}`.
    pub observed: ValueTemplate,
    /// Cap on the decoded body, bytes; default 1 MiB.
    pub max_bytes: usize,
}

impl HttpRead {
    /// The request that reads the object's external resource, without its credential.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object.
    pub fn render(&self, object: &Value) -> Result<HttpRequest, EvaluationError> {
        let templates =
            Templates { method: &self.method, url: &self.url, headers: &self.headers, body: self.body.as_ref() };
        templates.render(&Variables::of_object(object))
    }

    pub(super) fn fields(&self) -> FieldPaths {
        let mut fields = self.url.fields();
        self.headers.iter().for_each(|(_, template)| fields.extend(&template.fields()));
        self.body.iter().chain([&self.observed]).for_each(|template| fields.extend(&template.fields()));
        let rules = self.absent_when.iter().chain(&self.valid_when).chain(&self.settling_when);
        rules.for_each(|rule| fields.extend(rule.fields()));
        fields
    }
}

/// Keys of `read.http`.
const HTTP_KEYS: &[&str] = &[
    "method",
    "url",
    "headers",
    "body",
    "auth",
    "tls",
    "accept",
    "absentWhen",
    "validWhen",
    "settlingWhen",
    "observed",
    "maxBytes",
];

pub(super) fn read_http(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HttpRead> {
    let fields = reader.fields(node, place, HTTP_KEYS)?;
    let object = |place: &str| Site::new(place, Scope::Object);
    let method = reader.or(&fields, "method", Method::GET, |reader, node, place| {
        // By index: a Method cannot be copied.
        let methods = [Method::GET, Method::HEAD, Method::POST];
        let index = reader.choice(node, place, &[("GET", 0), ("HEAD", 1), ("POST", 2)])?;
        methods.into_iter().nth(index)
    });
    let url = reader.required(&fields, "url").and_then(|node| read_url(reader, node, &object(&fields.place("url"))));
    let headers =
        reader.or(&fields, "headers", Vec::new(), |reader, node, place| read_headers(reader, node, &object(place)));
    let body = reader.optional(&fields, "body", |reader, node, place| read_value(reader, node, &object(place)));
    let auth = reader.optional(&fields, "auth", read_auth);
    let tls = reader.optional(&fields, "tls", read_tls);
    let accept = reader.or(&fields, "accept", StatusSet::success(), read_accept);
    let absent_when = reader.optional(&fields, "absentWhen", read_rule);
    let valid_when = reader.optional(&fields, "validWhen", read_rule);
    let settling_when = reader.optional(&fields, "settlingWhen", read_rule);
    let observed = match fields.get("observed") {
        Some(node) => read_value(reader, node, &Site::new(&fields.place("observed"), Scope::Response)),
        None => whole_body(&fields.place("observed")),
    };
    let max_bytes = reader.or(&fields, "maxBytes", DEFAULT_MAX_BYTES, |reader, node, place| {
        size(reader, node, place, KIB..=MAX_RENDERED_BYTES)
    });
    let read = HttpRead {
        method: method?,
        url: url?,
        headers: headers?,
        body: body?,
        auth: auth?,
        tls: tls?,
        accept: accept?,
        absent_when: absent_when?,
        valid_when: valid_when?,
        settling_when: settling_when?,
        observed: observed?,
        max_bytes: max_bytes?,
    };
    check_together(reader, node, read, place)
}

/// `${response.body}`.
fn whole_body(place: &str) -> Option<ValueTemplate> {
    let site = Site::new(place, Scope::Response);
    Some(ValueTemplate::new(ValueNode::parse("${response.body}", &site).ok()?, site))
}

fn read_rule(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Expression> {
    read_expression(reader, node, &Site::new(place, Scope::Response))
}

fn check_together(reader: &mut Reader<'_>, node: &Node, read: HttpRead, place: &str) -> Option<HttpRead> {
    let at = |key: &str| node.get(key).map_or(node.at, |value| value.at);
    if read.body.is_some() && read.method != Method::POST {
        return reader.refuse(at("body"), format!("{place}.body: only a POST has a body; write method: POST"));
    }
    if read.tls.is_some() && !read.url.is_https() {
        return reader.refuse(at("tls"), format!("{place}.tls: the URL is not https"));
    }
    Some(read)
}
