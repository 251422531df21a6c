//! What a request is rendered from: method, URL, headers, body.
//!
//! A rendered request carries no credential. It must not know whether it reads or writes.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::cel::{EvaluationError, STEPS, Site, TextTemplate, UrlTemplate, Variables};
use crate::http::body::{Body, read_body};
use crate::http::headers::read_headers;
use crate::raw::{Fields, Reader};
use drift_model::field_paths::FieldPaths;
use drift_model::http_request::HttpRequest;

/// What a request is rendered from.
#[derive(Debug)]
pub struct RequestTemplate {
    /// The method.
    pub method: Method,
    /// Where.
    pub url: UrlTemplate,
    /// Extra headers.
    pub headers: Vec<(HeaderName, TextTemplate)>,
    /// What it carries.
    pub body: Option<Body>,
    /// The unix socket through which it goes; the URL's host is then only a header.
    pub socket: Option<Arc<str>>,
}

impl RequestTemplate {
    /// The request, without its credential.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object.
    pub fn render(&self, variables: &Variables<'_>) -> Result<HttpRequest, EvaluationError> {
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, template) in &self.headers {
            headers.insert(name, render_header(template, variables)?);
        }
        let body = self.body.as_ref().map(|body| body.render(variables)).transpose()?;
        if let Some(body) = &self.body {
            headers.entry(CONTENT_TYPE).or_insert(body.content_type());
        }
        let url = self.url.render(variables)?;
        let has_chosen_host = self.url.has_chosen_host() && self.socket.is_none();
        let socket = self.socket.clone();
        Ok(HttpRequest { method: self.method.clone(), url, headers, body, has_chosen_host, socket })
    }

    /// As much of the request as is known before its path, headers and body are: where it goes to. `None` where an answer
    /// to another request decides that.
    #[must_use]
    pub fn probe(&self, variables: &Variables<'_>) -> Option<HttpRequest> {
        let url = self.url.render_root(variables).ok()?;
        let (headers, has_chosen_host) = (HeaderMap::new(), self.url.has_chosen_host() && self.socket.is_none());
        let (method, socket) = (self.method.clone(), self.socket.clone());
        Some(HttpRequest { method, url, headers, body: None, has_chosen_host, socket })
    }

    /// Whether it is made of answers to other requests.
    #[must_use]
    pub fn reads_answers(&self) -> bool {
        self.url.reads(STEPS)
            || self.headers.iter().any(|(_, template)| template.reads(STEPS))
            || self.body.as_ref().is_some_and(|body| body.reads(STEPS))
    }

    /// Renders what is not made of answers to other requests, to see whether it can be.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object.
    pub(crate) fn try_without_answers(&self, variables: &Variables<'_>) -> Result<(), EvaluationError> {
        if !self.url.reads(STEPS) {
            self.url.render(variables)?;
        }
        for (_, template) in self.headers.iter().filter(|(_, template)| !template.reads(STEPS)) {
            render_header(template, variables)?;
        }
        self.body.as_ref().map_or(Ok(()), |body| body.try_without(STEPS, variables))
    }

    /// The fields under `self` that it reads.
    #[must_use]
    pub fn fields(&self) -> FieldPaths {
        let mut fields = self.url.fields();
        self.headers.iter().for_each(|(_, template)| fields.extend(&template.fields()));
        self.body.iter().for_each(|body| fields.extend(&body.fields()));
        fields
    }
}

fn render_header(template: &TextTemplate, variables: &Variables<'_>) -> Result<HeaderValue, EvaluationError> {
    HeaderValue::try_from(template.render(variables)?)
        .map_err(|_| template.site().error("the value holds characters that no header can carry"))
}

/// Reads the keys `url`, `headers` and those of the body.
pub(crate) fn read_request(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    method: Option<Method>,
    site: &Site,
) -> Option<RequestTemplate> {
    let url = reader.required(fields, "url").and_then(|node| {
        let site = site.at(&fields.place("url"));
        let text = reader.text(node, &site.place)?;
        reader.compiled(node, &site.place, UrlTemplate::parse(text, &site))
    });
    let headers =
        reader.or(fields, "headers", Vec::new(), |reader, node, place| read_headers(reader, node, &site.at(place)));
    let body = read_body(reader, fields, site);
    let socket = site.names.socket.clone();
    let is_https = url.as_ref().is_some_and(UrlTemplate::is_https);
    if let Some(node) = fields.get("url").filter(|_| is_https && socket.is_some()) {
        return reader.refuse(node.at, format!("{}: a unix socket has no TLS; write http://", fields.place("url")));
    }
    Some(RequestTemplate { method: method?, url: url?, headers: headers?, body: body?, socket })
}
