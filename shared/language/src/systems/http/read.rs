//! `read.http`: reads the observed state with one or more HTTP requests, in order.

use std::sync::Arc;

use serde_json::Value;

use crate::cel::evaluation::constants::MAX_RENDERED_BYTES;
use crate::cel::{
    EvaluationError, Expression, Expressions as _, HEADERS, Node as ValueNode, Scope, ValueTemplate, Variables,
};
use crate::section::{Key, Section, any, size, text};
use crate::systems::by_namespace::CredentialList;
use crate::systems::http::auth::needed_secrets::{credentials, needed_secrets};
use crate::systems::http::auth::{Auths, auths};
use crate::systems::http::collection::{Collection, WrittenCollection};
use crate::systems::http::insecure::check_credentials;
use crate::systems::http::proxy::Proxy;
use crate::systems::http::read_step::{Absence, ReadStep, Requests, Turn};
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::request::rendered::HttpRequest;
use crate::systems::http::scope::scope_of;
use crate::systems::http::socket::Socket;
use crate::systems::http::tls::Tls;
use crate::systems::keys::Keys;
use crate::systems::needed_secret::{Credential, NeededSecret};
use crate::systems::section::ReadSection;
use crate::systems::steps::{Role, VisitParts, expressions_of};
use crate::yaml::durations::{KIB, MIB};
use crate::yaml::{Fields, Node, Reader, expression, value_template};
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
    pub auth: Option<Auths>,
    /// A private CA and a client certificate.
    pub tls: Option<Tls>,
    /// The HTTP proxy.
    pub proxy: Option<Proxy>,
    /// The collection, if its request returns all objects at once.
    pub collection: Option<Collection>,
    /// While this is false, the resource is absent and no request is sent.
    pub absent_until: Option<Expression>,
    /// Rule that accepts a genuine response. Default: a top-level key of a map `desired` occurs in the observed state.
    pub valid_when: Option<Expression>,
    /// Rule that recognizes a response to any of the requests as throttling.
    pub limited_when: Option<Expression>,
    /// Rule that recognizes a response to any of the requests as a refusal of the credential.
    pub unauthorized_when: Option<Expression>,
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

    /// Returns true if objects choose a host from more than a list of whole names.
    #[must_use]
    pub fn has_open_host(&self) -> bool {
        self.steps().any(|step| step.request.url.has_open_host())
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
        credentials(self.auth.as_ref(), self.tls.as_ref(), self.proxy.as_ref())
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        let requests = self.steps().map(|step| &step.request);
        needed_secrets(CREDENTIAL_POLLER, self.auth.as_ref(), (self.tls.as_ref(), self.proxy.as_ref()), requests)
    }

    fn check_credentials(&self, reader: &mut Reader<'_>, spec: &Node) {
        let requests = self.steps().map(|step| &step.request);
        let auth = self.auth.as_ref().map(|auths| &**auths.any());
        check_credentials(reader, spec, "read", (auth, self.proxy.as_ref()), requests);
    }

    fn credential_list(&self) -> Option<&CredentialList> {
        self.auth.as_ref()?.list()
    }
}

/// The scopes of the rules of a read.
#[derive(Clone, Copy)]
pub(crate) struct AnswerScopes {
    /// Of a rule about a whole page.
    page: Scope,
    /// Of a rule about the entry of one object.
    entry: Scope,
}

impl AnswerScopes {
    const SINGLE: Self = Self { page: Scope::Response, entry: Scope::Response };
    const COLLECTION: Self = Self { page: Scope::Page, entry: Scope::Item };

    fn of(fields: &Fields<'_>) -> Self {
        if fields.get("each").is_some() { Self::COLLECTION } else { Self::SINGLE }
    }

    fn turn(self) -> Turn {
        if self.entry == Scope::Item { Turn::Page } else { Turn::First }
    }

    /// The default of `observed`.
    fn observed(self, reader: &Reader<'_>, fields: &Fields<'_>) -> Option<ValueTemplate> {
        let text = if self.entry == Scope::Item { "${item}" } else { "${response.body}" };
        let site = reader.site(&fields.place("observed"), self.entry);
        Some(ValueTemplate::new(ValueNode::parse(text, &site).ok()?, site))
    }
}

/// The section as written.
#[derive(Section)]
#[section(context = AnswerScopes, value = HttpRead, first = Socket, scoped, check = Self::make)]
struct WrittenRead {
    #[key(flatten = context.turn())]
    requests: Requests,
    #[key(flatten = (), of = WrittenCollection)]
    collection: Option<Collection>,
    /// The credential: exactly one of these.
    #[key(auths())]
    auth: Option<Auths>,
    /// Certificates.
    tls: Option<Tls>,
    /// The HTTP proxy. Default: that of the program.
    proxy: Option<Proxy>,
    /// While this ${…} over self is false, the resource is absent.
    #[key(text(expression(Scope::Object)))]
    absent_until: Option<Expression>,
    /// The response counts as a 429. Default: a 429.
    #[key(text(expression(Scope::Page)))]
    limited_when: Option<Expression>,
    /// The response counts as a 401. Default: a 401.
    #[key(text(expression(Scope::Page)))]
    unauthorized_when: Option<Expression>,
    /// The response describes the resource.
    #[key(text(expression(context.page)))]
    valid_when: Option<Expression>,
    /// The external system still works on a change.
    #[key(text(expression(context.entry)))]
    settling_when: Option<Expression>,
    /// The observed state. Default: ${response.body}, or ${item}.
    #[key(any(value_template(context.entry)), default = context.observed(reader, fields)?)]
    observed: ValueTemplate,
    /// Cap on the decoded body of a response. 1KiB to 8MiB, default 1MiB.
    #[key(size(KIB..=MAX_RENDERED_BYTES), default = DEFAULT_MAX_BYTES)]
    max_bytes: usize,
}

impl WrittenRead {
    fn make(self, reader: &mut Reader<'_>, fields: &Fields<'_>, _: AnswerScopes) -> Option<HttpRead> {
        let Requests { mut first, mut further, absent_when } = self.requests;
        let auths = self.auth.clone().map(Arc::new);
        std::iter::once(&mut first).chain(&mut further).for_each(|step| step.request.auths.clone_from(&auths));
        let mut read = HttpRead {
            first,
            further,
            auth: self.auth,
            tls: self.tls,
            proxy: self.proxy,
            collection: self.collection.map(|collection| collection.with_absence(absent_when)),
            absent_until: self.absent_until,
            limited_when: self.limited_when,
            unauthorized_when: self.unauthorized_when,
            valid_when: self.valid_when,
            settling_when: self.settling_when,
            observed: self.observed,
            max_bytes: self.max_bytes,
            sees_headers: false,
        };
        read.sees_headers = expressions_of(|visit| read.visit_parts(visit), |_| true).reads(HEADERS);
        let requests = read.steps().map(|step| &step.request);
        let any = read.auth.as_ref().map(|auths| &**auths.any());
        Proxy::check(reader, fields, any, requests)?;
        RequestTemplate::check_bodies(reader, fields, any, read.steps().map(|step| &step.request))?;
        match fields.get("tls") {
            Some(tls) if !read.steps().any(|step| step.request.url.is_https()) => {
                reader.refuse(tls.at, format!("{}: the URL is not https", fields.place("tls")))
            }
            _ => Some(read),
        }
    }
}

/// The keys do not depend on whether it is a collection, but the variables of their templates do.
impl Section for HttpRead {
    type Value = Self;
    type Context = ();

    fn names((): ()) -> Vec<&'static str> {
        WrittenRead::names(AnswerScopes::SINGLE)
    }

    fn keys((): ()) -> Vec<Key> {
        WrittenRead::keys(AnswerScopes::SINGLE)
    }

    fn read_from(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<Self> {
        WrittenRead::read_from(reader, fields, AnswerScopes::of(fields))
    }
}
