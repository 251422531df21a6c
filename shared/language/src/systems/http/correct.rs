//! `correct.http`: corrections by requests to an HTTP server.

use crate::cel::{DESIRED, EVERY_KEY, Expression, STEPS, Scope};
use crate::secrets::needed_secret::Credential;
use crate::secrets::needed_secret::NeededSecret;
use crate::systems::actions::{Action, ActionSteps, Actions, MadeOf};
use crate::systems::http::auth::needed_secrets::credentials;
use crate::systems::http::auth::needed_secrets::needed_secrets;
use crate::systems::http::auth::{Auth, read_auth};
use crate::systems::http::correct_step::{HttpStep, Purpose, read_steps};
use crate::systems::http::insecure::{check_credentials, goes_unread};
use crate::systems::http::request::body::Body;
use crate::systems::http::socket::read_socket;
use crate::systems::http::tls::{Tls, read_tls};
use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::section::{CorrectSection, SentBy, WithDesired};
use crate::systems::step_timeout::STEP_TIMEOUT;
use crate::yaml::Node;
use crate::yaml::reader::Reader;
use crate::yaml::templates::expression;
use drift_api::names::CREDENTIAL_CONTROLLER;
use drift_api::object::field_paths::FieldPaths;
use http::Method;
use std::time::Duration;

/// Corrections by HTTP requests.
#[derive(Debug)]
pub struct HttpCorrect {
    /// The controller's credential.
    pub auth: Option<Auth>,
    /// A private CA and a client certificate.
    pub tls: Option<Tls>,
    /// Rule that recognizes a response to any step as throttling.
    pub limited_when: Option<Expression>,
    /// Steps of a creation. Empty if the target has no `create`.
    pub create: Vec<HttpStep>,
    /// Steps of an update.
    pub update: Vec<HttpStep>,
    /// Steps of a deletion.
    pub delete: Vec<HttpStep>,
    /// Steps of a replacement of a resource that cannot be changed. If empty, those of a deletion and of a
    /// creation are used.
    pub replace: Vec<HttpStep>,
}

impl HttpCorrect {
    /// The steps of one action.
    #[must_use]
    pub fn steps_of(&self, action: Action) -> ActionSteps<'_, HttpStep> {
        ActionSteps::of(action, [&self.create, &self.update, &self.delete, &self.replace])
    }

    /// The steps of every action.
    pub fn steps(&self) -> impl Iterator<Item = &HttpStep> {
        self.create.iter().chain(&self.update).chain(&self.delete).chain(&self.replace)
    }

    /// Index of the first step of `create` whose effect stays unknown if its response is lost: a POST that stores part
    /// of its response, without a look-up before it and without `idempotent: true`.
    #[must_use]
    pub fn untraceable_create(&self) -> Option<usize> {
        let until_look_up = self.create.iter().take_while(|step| !step.looks_up());
        let is_untraceable =
            |step: &HttpStep| step.request.method == Method::POST && !step.store.is_empty() && !step.idempotent;
        until_look_up.enumerate().find(|(_, step)| is_untraceable(step)).map(|(position, _)| position)
    }

    /// Indexes of a look-up of `create` and of a later POST that is sent whatever the look-up finds: it has no `when`,
    /// and nothing in it uses an earlier step.
    #[must_use]
    pub fn unguarded_create(&self) -> Option<(usize, usize)> {
        let look_up = self.create.iter().position(HttpStep::looks_up)?;
        let is_unguarded = |step: &HttpStep| {
            let is_write = step.request.method == Method::POST && !step.looks_up() && !step.idempotent;
            is_write && step.when.is_none() && step.for_each.is_none() && !step.request.reads(STEPS)
        };
        let post = self.create.iter().skip(look_up).position(is_unguarded)?;
        Some((look_up, look_up + post))
    }

    /// The fields in a write's URL and in the body of a deleting call. For a look-up, all of its fields.
    fn address_of(place: &str, step: &HttpStep, with_desired: &WithDesired<'_>) -> FieldPaths {
        let (request, url) = (&step.request, &step.request.url);
        if step.looks_up() {
            return with_desired(request.fields(), &|variable| request.reads(variable));
        }
        let mut fields = with_desired(url.fields(), &|variable| url.reads(variable));
        if let Some(body) = body_of_call(place, step) {
            fields.extend(&with_desired(body.fields(), &|variable| body.reads(variable)));
        }
        fields
    }
}

/// The body of a POST that deletes. In JSON-RPC the body names the deleted resource, not the URL.
fn body_of_call<'a>(place: &str, step: &'a HttpStep) -> Option<&'a Body> {
    let is_call = place == "delete" && step.request.method == Method::POST && !step.looks_up();
    step.request.body.as_ref().filter(|_| is_call)
}

impl CorrectSection for HttpCorrect {
    fn key(&self) -> &'static str {
        "http"
    }

    fn actions(&self) -> Actions {
        let [create, update, delete] = [&self.create, &self.update, &self.delete].map(|steps| !steps.is_empty());
        Actions { create, update, delete, replace: !self.replace.is_empty() || create && delete, nudge: false }
    }

    fn reads_differs(&self) -> bool {
        self.steps().any(HttpStep::reads_differs)
    }

    fn leaves(&self, key: &str) -> bool {
        !self.update.is_empty() && self.update.iter().all(|step| step.leaves(key))
    }

    fn made_of(&self) -> Option<[Option<MadeOf>; 4]> {
        let made_of = |step: &HttpStep| (step.request_fields(), step.requests_read(DESIRED));
        let actions = [&self.create, &self.update, &self.delete, &self.replace];
        Some(actions.map(|steps| MadeOf::of(steps.iter().map(made_of))))
    }

    /// Returns true if the one request that an update always sends carries other keys and not this key of the desired
    /// state, which is made of these fields. With several requests, one can switch on what another switches off,
    /// without the key's value in either.
    fn lacks(&self, key: &str, fields: &FieldPaths) -> bool {
        let carries = |step: &HttpStep| {
            let own = step.request_fields();
            let is_read = |field: &[String]| own.iter().any(|own| own.starts_with(field) || field.starts_with(own));
            step.requests_read(EVERY_KEY)
                || step.requests_read(&format!("{DESIRED}.{key}"))
                || fields.iter().any(is_read)
        };
        let writes_fields = |step: &HttpStep| {
            let body = step.request.body.as_ref().filter(|body| matches!(body, Body::Json(_) | Body::Form(_)));
            body.is_some_and(|body| body.reads(DESIRED) || body.fields().iter().next().is_some())
        };
        let mut writes = self.update.iter().filter(|step| !step.looks_up());
        let (only, None) = (writes.next(), writes.next()) else { return false };
        only.is_some_and(|step| step.when.is_none() && writes_fields(step)) && !self.update.iter().any(carries)
    }

    fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        self.steps().for_each(|step| fields.extend(&step.fields()));
        fields
    }

    /// Only a POST makes a resource at an address of the system's choice.
    fn repeated_create(&self) -> RepeatedCreate {
        let makes = |step: &&HttpStep| step.request.method == Method::POST && !step.looks_up();
        let keyed: Vec<_> = self.create.iter().chain(&self.replace).filter(makes).map(|step| step.idempotent).collect();
        match keyed.as_slice() {
            [] => RepeatedCreate::Harmless,
            keyed if keyed.iter().all(|keyed| *keyed) => RepeatedCreate::Keyed,
            _ => RepeatedCreate::Duplicates,
        }
    }

    fn longest_create_step(&self) -> Option<Duration> {
        let steps = self.create.iter().chain(&self.replace);
        steps.map(|step| step.timeout.unwrap_or(STEP_TIMEOUT)).max()
    }

    fn stored_by_look_up(&self) -> Vec<&str> {
        let look_ups = self.create.iter().take_while(|step| step.looks_up());
        look_ups.flat_map(|step| step.store.names()).collect()
    }

    fn stored(&self) -> Vec<&str> {
        self.steps().flat_map(|step| step.store.names()).collect()
    }

    fn replaces(&self) -> Result<bool, &'static str> {
        Ok(!self.replace.is_empty())
    }

    fn addresses(&self, with_desired: &WithDesired<'_>) -> Vec<(&'static str, FieldPaths)> {
        let mut found = Vec::new();
        for (place, steps) in [("update", &self.update), ("replace", &self.replace), ("delete", &self.delete)] {
            // A look-up only matters if an address uses its result.
            let reads_steps = |step: &HttpStep| {
                let body = body_of_call(place, step);
                step.is_led(|name| step.request.url.reads(name) || body.is_some_and(|body| body.reads(name)))
            };
            let is_led = steps.iter().any(|step| !step.looks_up() && reads_steps(step));
            let leading = steps.iter().filter(|step| is_led || !step.looks_up());
            found.extend(leading.map(|step| (place, Self::address_of(place, step, with_desired))));
        }
        found
    }

    fn sent_by(&self, secret: &str) -> [SentBy; 3] {
        let sends = |steps: &[HttpStep]| {
            (!steps.is_empty()).then(|| steps.iter().any(|step| !step.looks_up() && step.sends(secret)))
        };
        [
            SentBy { action: "http.create", is_needed: false, sends: sends(&self.create) },
            SentBy { action: "http.update", is_needed: true, sends: sends(&self.update) },
            SentBy { action: "http.replace", is_needed: false, sends: sends(&self.replace) },
        ]
    }

    fn deletion_that_sends(&self, secret: &str) -> Option<usize> {
        self.delete.iter().position(|step| step.sends(secret))
    }

    fn sends_unencrypted(&self, secrets: &[&str]) -> Option<&str> {
        let sends = |step: &&HttpStep| secrets.iter().any(|secret| step.sends(secret));
        let step = self.steps().find(|step| sends(step) && !goes_unread(&step.request))?;
        Some(step.request.url.host())
    }

    fn credentials(&self) -> Vec<Credential> {
        credentials(self.auth.as_ref(), self.tls.as_ref())
    }

    fn needed_secrets(&self) -> Vec<NeededSecret> {
        let requests = self.steps().map(|step| &step.request);
        needed_secrets(CREDENTIAL_CONTROLLER, self.auth.as_ref(), self.tls.as_ref(), requests)
    }

    fn check_credentials(&self, reader: &mut Reader<'_>, spec: &Node) {
        let requests = self.steps().map(|step| &step.request);
        check_credentials(reader, spec, "correct", self.auth.as_ref(), requests);
    }
}

/// Keys of `correct.http`.
const KEYS: &[&str] = &["socket", "auth", "tls", "limitedWhen", "create", "update", "delete", "replace"];

pub(crate) fn read_http(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HttpCorrect> {
    let fields = reader.fields(node, place, KEYS)?;
    let auth = reader.optional(&fields, "auth", read_auth);
    let tls = reader.optional(&fields, "tls", read_tls);
    let limited_when = reader.optional(&fields, "limitedWhen", expression(Scope::Page));
    let steps =
        |purpose| move |reader: &mut Reader<'_>, node: &Node, place: &str| read_steps(reader, node, place, purpose);
    reader.names_mut().socket = reader.optional(&fields, "socket", read_socket)?;
    let create = reader.or(&fields, "create", Vec::new(), steps(Purpose::Creating));
    let update = reader.or(&fields, "update", Vec::new(), steps(Purpose::Updating));
    let delete = reader.or(&fields, "delete", Vec::new(), steps(Purpose::Deleting));
    let replace = reader.or(&fields, "replace", Vec::new(), steps(Purpose::Replacing));
    reader.names_mut().socket = None;
    if !["create", "update", "delete", "replace"].iter().any(|key| fields.get(key).is_some()) {
        return reader
            .refuse(fields.at(), format!("{place}: at least one of create, update, delete, replace is needed"));
    }
    let (create, update, delete, replace) = (create?, update?, delete?, replace?);
    let limited_when = limited_when?;
    let http = HttpCorrect { auth: auth?, tls: tls?, limited_when, create, update, delete, replace };
    if http.tls.is_some() && !http.steps().any(|step| step.request.url.is_https()) {
        let at = fields.get("tls").map_or(node.at, |tls| tls.at);
        return reader.refuse(at, format!("{place}.tls: no URL is https"));
    }
    Some(http)
}
