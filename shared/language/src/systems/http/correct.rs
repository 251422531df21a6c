//! `correct.http`: corrections by requests to an HTTP server.

use crate::cel::{DESIRED, EVERY_KEY, Expression, Expressions as _, STEPS, Scope};
use crate::section::{Section, text};
use crate::systems::actions::Actions;
use crate::systems::by_namespace::CredentialList;
use crate::systems::http::auth::needed_secrets::{credentials, needed_secrets};
use crate::systems::http::auth::{Auths, auths};
use crate::systems::http::correct_step::HttpStep;
use crate::systems::http::insecure::{check_credentials, goes_unread};
use crate::systems::http::proxy::Proxy;
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::request::body::Body;
use crate::systems::http::socket::Socket;
use crate::systems::http::tls::Tls;
use crate::systems::needed_secret::{Credential, NeededSecret};
use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::section::CorrectSection;
use crate::systems::step_timeout::STEP_TIMEOUT;
use crate::systems::steps::{Role, Step, Steps};
use crate::yaml::{Fields, Node, Reader, expression};
use drift_api::names::CREDENTIAL_CONTROLLER;
use drift_api::object::field_paths::FieldPaths;
use http::Method;
use std::sync::Arc;
use std::time::Duration;

/// Corrections by HTTP requests.
#[derive(Debug)]
pub struct HttpCorrect {
    /// The controller's credential.
    pub auth: Option<Auths>,
    /// A private CA and a client certificate.
    pub tls: Option<Tls>,
    /// The HTTP proxy.
    pub proxy: Option<Proxy>,
    /// Rule that recognizes a response to any step as throttling.
    pub limited_when: Option<Expression>,
    /// Rule that recognizes a response to any step as a refusal of the credential.
    pub unauthorized_when: Option<Expression>,
    /// The steps of each action.
    pub steps: Steps<HttpStep>,
}

impl HttpCorrect {
    /// Returns true if objects choose a host from more than a list of whole names.
    #[must_use]
    pub fn has_open_host(&self) -> bool {
        self.steps.iter().any(|step| step.request.url.has_open_host())
    }

    /// Index of the first step of `create` whose effect stays unknown if its response is lost: a POST that stores part
    /// of its response, without a look-up before it and without `idempotent: true`.
    #[must_use]
    pub fn untraceable_create(&self) -> Option<usize> {
        let until_look_up = self.steps.create.iter().take_while(|step| !step.looks_up());
        let is_untraceable =
            |step: &HttpStep| step.request.method == Method::POST && !step.store.is_empty() && !step.idempotent;
        until_look_up.enumerate().find(|(_, step)| is_untraceable(step)).map(|(position, _)| position)
    }

    /// Indexes of a look-up of `create` and of a later POST that is sent whatever the look-up finds: it has no `when`,
    /// and nothing in it uses an earlier step.
    #[must_use]
    pub fn unguarded_create(&self) -> Option<(usize, usize)> {
        let look_up = self.steps.create.iter().position(HttpStep::looks_up)?;
        let is_unguarded = |step: &HttpStep| {
            let is_write = step.request.method == Method::POST && !step.looks_up() && !step.idempotent;
            is_write && step.when.is_none() && step.for_each.is_none() && !step.request.reads(STEPS)
        };
        let post = self.steps.create.iter().skip(look_up).position(is_unguarded)?;
        Some((look_up, look_up + post))
    }
}

impl CorrectSection for HttpCorrect {
    fn key(&self) -> &'static str {
        "http"
    }

    fn actions(&self) -> Actions {
        self.steps.actions()
    }

    fn steps(&self) -> [Vec<&dyn Step>; 4] {
        self.steps.parts()
    }

    /// Returns true if the one request that an update always sends carries other keys and not this key of the desired
    /// state, which is made of these fields. With several requests, one can switch on what another switches off,
    /// without the key's value in either.
    fn lacks(&self, key: &str, fields: &FieldPaths) -> bool {
        let carries = |step: &HttpStep| {
            let own = step.expressions(&Role::is_of_request).fields();
            let is_read = |field: &[String]| own.iter().any(|own| own.starts_with(field) || field.starts_with(own));
            step.requests_read(EVERY_KEY)
                || step.requests_read(&format!("{DESIRED}.{key}"))
                || fields.iter().any(is_read)
        };
        let writes_fields = |step: &HttpStep| {
            let body = step.request.body.as_ref().filter(|body| matches!(body, Body::Json(_) | Body::Form(_)));
            body.is_some_and(|body| body.reads(DESIRED) || body.fields().iter().next().is_some())
        };
        let mut writes = self.steps.update.iter().filter(|step| !step.looks_up());
        let (only, None) = (writes.next(), writes.next()) else { return false };
        only.is_some_and(|step| step.when.is_none() && writes_fields(step)) && !self.steps.update.iter().any(carries)
    }

    /// Only a POST makes a resource at an address of the system's choice.
    fn repeated_create(&self) -> RepeatedCreate {
        let makes = |step: &&HttpStep| step.request.method == Method::POST && !step.looks_up();
        let creates = self.steps.create.iter().chain(&self.steps.replace);
        let keyed: Vec<_> = creates.filter(makes).map(|step| step.idempotent).collect();
        match keyed.as_slice() {
            [] => RepeatedCreate::Harmless,
            keyed if keyed.iter().all(|keyed| *keyed) => RepeatedCreate::Keyed,
            _ => RepeatedCreate::Duplicates,
        }
    }

    fn longest_create_step(&self) -> Option<Duration> {
        let steps = self.steps.create.iter().chain(&self.steps.replace);
        steps.map(|step| step.timeout.unwrap_or(STEP_TIMEOUT)).max()
    }

    fn stored_by_look_up(&self) -> Vec<&str> {
        let look_ups = self.steps.create.iter().take_while(|step| step.looks_up());
        look_ups.flat_map(|step| step.store.names()).collect()
    }

    fn stored(&self) -> Vec<&str> {
        self.steps.iter().flat_map(|step| step.store.names()).collect()
    }

    fn sends_unencrypted(&self, secrets: &[&str]) -> Option<&str> {
        let sends = |step: &&HttpStep| secrets.iter().any(|secret| step.sends(secret));
        let step = self.steps.iter().find(|step| sends(step) && !goes_unread(&step.request))?;
        Some(step.request.url.host())
    }

    fn credentials(&self) -> Vec<Credential> {
        credentials(self.auth.as_ref(), self.tls.as_ref(), self.proxy.as_ref())
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        let requests = self.steps.iter().map(|step| &step.request);
        needed_secrets(CREDENTIAL_CONTROLLER, self.auth.as_ref(), (self.tls.as_ref(), self.proxy.as_ref()), requests)
    }

    fn check_credentials(&self, reader: &mut Reader<'_>, spec: &Node) {
        let requests = self.steps.iter().map(|step| &step.request);
        let auth = self.auth.as_ref().map(|auths| &**auths.any());
        check_credentials(reader, spec, "correct", (auth, self.proxy.as_ref()), requests);
    }

    fn credential_list(&self) -> Option<&CredentialList> {
        self.auth.as_ref()?.list()
    }
}

/// The section as written.
#[derive(Section)]
#[section(value = HttpCorrect, first = Socket, scoped, check = Self::make)]
pub(crate) struct WrittenCorrect {
    /// The credential: exactly one of these.
    #[key(auths())]
    auth: Option<Auths>,
    /// Certificates.
    tls: Option<Tls>,
    /// The HTTP proxy. Default: that of the program.
    proxy: Option<Proxy>,
    /// The response counts as a 429. Default: a 429.
    #[key(text(expression(Scope::Page)))]
    limited_when: Option<Expression>,
    /// The response counts as a 401. Default: a 401.
    #[key(text(expression(Scope::Page)))]
    unauthorized_when: Option<Expression>,
    #[key(flatten = ())]
    steps: Steps<HttpStep>,
}

impl WrittenCorrect {
    fn make(self, reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<HttpCorrect> {
        let Self { auth, tls, proxy, limited_when, unauthorized_when, mut steps } = self;
        let auths = auth.clone().map(Arc::new);
        steps.iter_mut().for_each(|step| step.request.auths.clone_from(&auths));
        let any = auth.as_ref().map(|auths| &**auths.any());
        Proxy::check(reader, fields, any, steps.iter().map(|step| &step.request))?;
        RequestTemplate::check_bodies(reader, fields, any, steps.iter().map(|step| &step.request))?;
        match fields.get("tls") {
            Some(tls) if !steps.iter().any(|step| step.request.url.is_https()) => {
                reader.refuse(tls.at, format!("{}: no URL is https", fields.place("tls")))
            }
            _ => Some(HttpCorrect { auth, tls, proxy, limited_when, unauthorized_when, steps }),
        }
    }
}
