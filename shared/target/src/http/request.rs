//! What a request is rendered from: method, URL, headers, body.
//!
//! A rendered request carries no credential. It must not know whether it reads or writes.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::cel::{EvaluationError, Site, TextTemplate, UrlTemplate, Variables};
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
            let value = HeaderValue::try_from(template.render(variables)?)
                .map_err(|_| template.site().error("the value holds characters that no header can carry"))?;
            headers.insert(name, value);
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

    /// The fields under `self` that it reads.
    #[must_use]
    pub fn fields(&self) -> FieldPaths {
        let mut fields = self.url.fields();
        self.headers.iter().for_each(|(_, template)| fields.extend(&template.fields()));
        self.body.iter().for_each(|body| fields.extend(&body.fields()));
        fields
    }
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
