//! The template of a request: method, URL, headers, body.
//!
//! A rendered request carries no credential.

pub(crate) mod body;
pub(crate) mod headers;
pub(crate) mod kind;
pub(crate) mod rendered;

use std::sync::{Arc, OnceLock};

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;

use crate::cel::{
    DIFFERS, EvaluationError, Expression, Expressions, Mistake, SECRETS, STEPS, Scope, TextTemplate, UrlTemplate,
    Variables,
};
use crate::section::{Section, map, text, words};
use crate::systems::http::auth::{Auth, Auths};
use crate::systems::http::request::body::Body;
use crate::systems::http::request::headers::{HeaderTemplate, headers};
use crate::systems::http::request::kind::RequestKind;
use crate::systems::http::request::rendered::HttpRequest;
use crate::yaml::{Fields, Node, Reader};

/// The template of a request.
#[derive(Debug, Section)]
#[section(context = RequestKind, check = Self::through_socket)]
pub struct RequestTemplate {
    /// GET and HEAD look up. Default of a read: GET.
    #[key(words(context.methods()), default = Method::GET, needed = context.is_write())]
    pub method: Method,
    /// The URL. Each ${…} is percent-encoded.
    #[key(text(url(context.scope())))]
    pub url: UrlTemplate,
    /// Request headers. At most 32.
    #[key(map(headers(context.scope())), default)]
    pub headers: Vec<HeaderTemplate>,
    /// The body, if any.
    #[key(flatten = context)]
    pub body: Option<Body>,
    /// The unix socket for the request. The URL's host is then only a header.
    #[key(skip)]
    pub socket: Option<Arc<str>>,
    /// The credentials of its section.
    #[key(skip)]
    pub(crate) auths: Option<Arc<Auths>>,
    /// The headers, cached if they contain no template.
    #[key(skip)]
    fixed_headers: OnceLock<Arc<HeaderMap>>,
}

impl RequestTemplate {
    /// Renders the request, without its credential.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, variables: &Variables<'_>) -> Result<HttpRequest, EvaluationError> {
        let headers = self.render_headers(variables)?;
        let body = self.body.as_ref().map(|body| body.render(variables)).transpose()?;
        let url = self.url.render(variables)?;
        let has_chosen_host = self.url.has_chosen_host() && self.socket.is_none();
        let (socket, auth) = (self.socket.clone(), self.auth_of(variables));
        Ok(HttpRequest { method: self.method.clone(), url, headers, body, has_chosen_host, socket, auth })
    }

    /// Returns the credential for the object.
    fn auth_of(&self, variables: &Variables<'_>) -> Option<Arc<Auth>> {
        self.auths.as_ref().map(|auths| auths.auth_for(variables.object))
    }

    fn render_headers(&self, variables: &Variables<'_>) -> Result<Arc<HeaderMap>, EvaluationError> {
        if let Some(fixed) = self.fixed_headers.get() {
            return Ok(fixed.clone());
        }
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, template) in &self.headers {
            headers.insert(name, render_header(template, variables)?);
        }
        if let Some(kind) = self.body.as_ref().and_then(Body::content_type) {
            headers.entry(CONTENT_TYPE).or_insert(kind);
        }
        let headers = Arc::new(headers);
        let are_fixed = self.headers.iter().all(|(_, template)| template.is_literal());
        Ok(if are_fixed { self.fixed_headers.get_or_init(|| headers).clone() } else { headers })
    }

    /// Adds headers that it does not set itself.
    pub(crate) fn inherit(&mut self, headers: &[HeaderTemplate]) {
        let own: Vec<_> = self.headers.iter().map(|(name, _)| name.clone()).collect();
        self.headers.extend(headers.iter().filter(|(name, _)| !own.contains(name)).cloned());
        self.fixed_headers = OnceLock::new();
    }

    /// Renders only the destination, before path, headers and body are known. `None` if it depends on the response
    /// to another request.
    #[must_use]
    pub fn probe(&self, variables: &Variables<'_>) -> Option<HttpRequest> {
        let url = self.url.render_root(variables).ok()?;
        let (headers, has_chosen_host) = (Arc::default(), self.url.has_chosen_host() && self.socket.is_none());
        let (method, socket, auth) = (self.method.clone(), self.socket.clone(), self.auth_of(variables));
        Some(HttpRequest { method, url, headers, body: None, has_chosen_host, socket, auth })
    }

    /// Returns true if a retry can differ for the same object and target, because it reads responses to other requests
    /// or the fields that differ.
    #[must_use]
    pub fn may_vary(&self) -> bool {
        [STEPS, DIFFERS].iter().any(|variable| self.reads(variable))
    }

    /// Returns true if it names the response to that step.
    #[must_use]
    pub fn reads_answer_of(&self, step: &str) -> bool {
        self.reads(&format!("{STEPS}.{step}"))
    }

    /// Renders the parts that read none of the unknown variables, to find their errors.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub(crate) fn try_without(&self, unknown: &[&str], variables: &Variables<'_>) -> Result<(), EvaluationError> {
        if !unknown.iter().any(|variable| self.url.reads(variable)) {
            self.url.render(variables)?;
        }
        let is_known = |template: &TextTemplate| !unknown.iter().any(|variable| template.reads(variable));
        for (_, template) in self.headers.iter().filter(|(_, template)| is_known(template)) {
            render_header(template, variables)?;
        }
        self.body.as_ref().map_or(Ok(()), |body| body.try_without(unknown, variables))
    }

    /// Attributes a rendering error to the object or to the responses of other requests.
    #[must_use]
    pub fn attribute(&self, error: EvaluationError, object: &Value) -> Mistake {
        Mistake::attribute(self.try_without(&[STEPS], &Variables::of_object(object)).err(), error)
    }
}

impl Expressions for RequestTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.url.visit(visit);
        self.headers.visit(visit);
        self.body.visit(visit);
    }
}

/// Renders a header. One without value is an error: a request that lacks its project or `if-match` reaches further than
/// its author means.
fn render_header(template: &TextTemplate, variables: &Variables<'_>) -> Result<HeaderValue, EvaluationError> {
    let mut value = HeaderValue::try_from(template.render(variables)?)
        .map_err(|_| template.site().error("the value holds characters that no header can carry"))?;
    value.set_sensitive(template.reads(SECRETS));
    Ok(value)
}

impl RequestTemplate {
    /// Checks that each request of a section has a body for the credential, if that is a field of it.
    pub(crate) fn check_bodies<'r>(
        reader: &mut Reader<'_>,
        fields: &Fields<'_>,
        auth: Option<&Auth>,
        mut requests: impl Iterator<Item = &'r Self>,
    ) -> Option<()> {
        let has_fields = |request: &Self| matches!(request.body, Some(Body::Json(_) | Body::Form(_)));
        match fields.get("auth").filter(|_| auth.is_some_and(Auth::is_in_body)) {
            Some(node) if !requests.all(has_fields) => {
                let place = fields.place("auth");
                let message = format!(
                    "{place}: the credential is a field of the body; give each request a body or a form, and method: POST"
                );
                reader.refuse(node.at, message)
            }
            _ => Some(()),
        }
    }

    /// Sends it through the socket of its section.
    fn through_socket(mut self, reader: &mut Reader<'_>, fields: &Fields<'_>, _: RequestKind) -> Option<Self> {
        self.socket = reader.names().socket.clone();
        match fields.get("url").filter(|_| self.url.is_https() && self.socket.is_some()) {
            Some(node) => {
                let message = format!("{}: a unix socket has no TLS; write http://", fields.place("url"));
                reader.refuse(node.at, message)
            }
            None => Some(self),
        }
    }
}

fn url(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<UrlTemplate> {
    move |reader, node, place| {
        reader.url_is_no_number(node, place)?;
        let text = reader.text(node, place)?;
        let site = reader.site(place, scope);
        reader.compiled(node, &site, UrlTemplate::parse(text, &site))
    }
}
