//! One request of a correction, and the meaning of its response.

mod purpose;

use std::time::Duration;

use http::Method;
use serde_json::Value;

use crate::cel::{EvaluationError, Expression, Expressions, ITEM, STEPS, Scope, ValueTemplate, Variables};
use crate::spec::naming::read_step_name;
use crate::spec::status_fields::{StatusTemplates, read_status_templates};
use crate::systems::http::for_each::ForEach;
use crate::systems::http::format::{Format, read_format};
use crate::systems::http::request::body::WRITE_KEYS;
use crate::systems::http::request::{RequestTemplate, read_request};
use crate::systems::http::statuses::{StatusSet, read_step_accept};
use crate::systems::step_timeout::read_timeout;
use crate::systems::steps::{Role, Step};
use crate::yaml::Node;
use crate::yaml::reader::{Fields, Reader};
use crate::yaml::templates::{expression, read_value};

pub(crate) use purpose::Purpose;

/// Maximum requests of one correction. It is one attempt, not a program.
const MAX_STEPS: usize = 16;

/// The key of a step that is sent once for each item of a list.
const FOR_EACH: &str = "forEach";

/// The value of `because` that shows no reason.
const NO_REASON: &str = "none";

/// Source of the reason of a refusal.
#[derive(Debug)]
pub enum Because {
    /// The server's own sentence.
    Server,
    /// A template over `response`. Boxed, because most steps have none.
    Template(Box<ValueTemplate>),
    /// No reason is shown.
    Nothing,
}

impl Expressions for Because {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        match self {
            Self::Template(template) => template.visit(visit),
            Self::Server | Self::Nothing => {}
        }
    }
}

/// One request of a correction.
#[derive(Debug)]
pub struct HttpStep {
    /// Its name for later steps and for messages.
    pub name: Option<String>,
    /// The request. GET and HEAD are look-ups for later steps.
    pub request: RequestTemplate,
    /// `true` makes a POST a look-up too, as in JSON-RPC. `None` if not set.
    pub reads: Option<bool>,
    /// Condition for sending it. `None` sends it always.
    pub when: Option<Expression>,
    /// The list of a step that is sent once for each `item`. `None` sends it once.
    pub for_each: Option<ForEach>,
    /// The deadline of the request. `None` uses the default.
    pub timeout: Option<Duration>,
    /// The format of the response's body; default JSON.
    pub format: Format,
    /// Statuses that mean success. Default 200–299, and always 404 and 410 for a deleting step.
    pub accept: StatusSet,
    /// For a deleting step, statuses that mean that the resource is gone. Any other accepted status means that the
    /// deletion is in progress. Equal to `accept` if not set, and for all other steps.
    pub done_on: StatusSet,
    /// Rule that makes any response a definite refusal.
    pub refused_when: Option<Expression>,
    /// The source of the reason of a refusal, for display.
    pub because: Because,
    /// The fields of an accepted response to keep in the object's status.
    pub store: StatusTemplates,
    /// True if the external system honours the request's idempotency key: a repeated request with the same key creates
    /// no second resource. The author asserts this; it cannot be checked.
    pub idempotent: bool,
}

impl HttpStep {
    /// Returns true if the step must be sent.
    ///
    /// # Errors
    /// Fails if `when` cannot be evaluated for this object and these responses.
    pub fn is_due(&self, variables: &Variables<'_>) -> Result<bool, EvaluationError> {
        self.when.as_ref().map_or(Ok(true), |when| when.evaluate_bool(variables))
    }

    /// Returns true if `response` is a definite refusal, regardless of its status.
    ///
    /// # Errors
    /// Fails if `refusedWhen` cannot be evaluated for this response.
    pub fn is_refused(&self, variables: &Variables<'_>) -> Result<bool, EvaluationError> {
        self.refused_when.as_ref().map_or(Ok(false), |refused| refused.evaluate_bool(variables))
    }

    /// Returns the reason that the target chooses in `response`, which is empty if it shows none. `None` leaves the
    /// choice to the reader of the response: the target says nothing, the response lacks the field, or it is no text.
    #[must_use]
    pub fn chosen_reason(&self, variables: &Variables<'_>) -> Option<String> {
        let template = match &self.because {
            Because::Server => return None,
            Because::Nothing => return Some(String::new()),
            Because::Template(template) => template,
        };
        match template.render(variables).ok()? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(truth) => Some(truth.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Renders the parts that do not read responses, to find their errors.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn try_without_answers(&self, variables: &Variables<'_>) -> Result<(), EvaluationError> {
        let known = self.when.as_ref().filter(|when| !when.reads(STEPS));
        if known.map_or(Ok(true), |when| when.evaluate_bool(variables))? {
            match &self.for_each {
                Some(for_each) => for_each.try_out(&self.request, variables)?,
                None => self.request.try_without(&[STEPS], variables)?,
            }
        }
        Ok(())
    }

    /// Returns true if its requests carry a variable of the language.
    pub(crate) fn requests_read(&self, variable: &str) -> bool {
        self.expressions(&Role::is_of_request).reads(variable)
    }
}

impl Step for HttpStep {
    fn visit_parts<'e>(&'e self, visit: &mut dyn FnMut(Role, &'e dyn Expressions)) {
        visit(Role::When, &self.when);
        visit(Role::List, &self.for_each);
        visit(Role::Address, &self.request.url);
        visit(Role::Header, &self.request.headers);
        visit(Role::Body, &self.request.body);
        visit(Role::Answer, &self.refused_when);
        visit(Role::Answer, &self.because);
        visit(Role::Answer, &self.store);
    }

    fn looks_up(&self) -> bool {
        matches!(self.request.method, Method::GET | Method::HEAD) || self.reads == Some(true)
    }

    /// A whole look-up selects a resource. In JSON-RPC the body of a POST names the deleted resource, not the URL.
    fn is_address(&self, action: &str, role: Role) -> bool {
        let is_call = action == "delete" && self.request.method == Method::POST;
        match role {
            Role::Address => true,
            Role::Header => self.looks_up(),
            Role::Body => self.looks_up() || is_call,
            _ => false,
        }
    }
}

/// Reads the steps of one action. Each sees the responses of those before it.
pub(crate) fn read_steps(reader: &mut Reader<'_>, node: &Node, place: &str, purpose: Purpose) -> Option<Vec<HttpStep>> {
    let items = reader.items(node, place, 1..=MAX_STEPS)?;
    let steps = reader.each(items, place, |reader, item, place| {
        let step = read_step(reader, item, place, purpose);
        // Invalid steps count too: their uses must not be reported as unknown. A step with several responses has none
        // to show.
        let named = item.get("name").and_then(Node::as_text).filter(|_| item.get(FOR_EACH).is_none());
        reader.names_mut().steps.extend(named.map(str::to_owned));
        step
    });
    reader.names_mut().steps.clear();
    let steps = steps?;
    if steps.iter().all(HttpStep::looks_up) {
        let message = format!("{place}: no step writes; method POST (without reads: true), PUT, PATCH or DELETE does");
        return reader.refuse(node.at, message);
    }
    Some(steps)
}

fn read_step(reader: &mut Reader<'_>, node: &Node, place: &str, purpose: Purpose) -> Option<HttpStep> {
    let fields = reader.fields(node, place, &purpose.keys())?;
    let [asking, judging] = purpose.scopes();
    let name = reader.optional(&fields, "name", read_step_name);
    let method = reader.needed(&fields, "method", |reader, node, place| {
        // By index, because a Method cannot be copied.
        let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let choices = [("GET", 0), ("HEAD", 1), ("POST", 2), ("PUT", 3), ("PATCH", 4), ("DELETE", 5)];
        methods.into_iter().nth(reader.choice(node, place, &choices)?)
    });
    let reads = reader.optional(&fields, "reads", Reader::truth);
    let when = reader.optional(&fields, "when", expression(asking));
    let for_each = reader.optional(&fields, FOR_EACH, expression(asking));
    reader.names_mut().item = fields.get(FOR_EACH).is_some();
    let request = read_request(reader, &fields, method, &reader.site(place, asking));
    let timeout = read_timeout(reader, &fields);
    let format = read_format(reader, &fields);
    let accept = reader.or(&fields, "accept", StatusSet::success(), read_step_accept);
    let done_on = reader.optional(&fields, "doneOn", read_step_accept);
    let refused_when = reader.optional(&fields, "refusedWhen", expression(judging));
    let because = reader
        .or(&fields, "because", Because::Server, |reader, node, place| read_because(reader, node, place, judging));
    reader.names_mut().item = false;
    let store = reader.or(&fields, "store", StatusTemplates::default(), |reader, node, place| {
        read_status_templates(reader, node, place, judging)
    });
    let idempotent = reader.or(&fields, "idempotent", false, Reader::truth);
    let (name, request, reads, timeout, format) = (name?, request?, reads?, timeout?, format?);
    let (when, for_each) = (when?, for_each?.map(ForEach));
    let (accept, done_on) = purpose.settle(&request.method, accept?, done_on?);
    let (refused_when, because, store, idempotent) = (refused_when?, because?, store?, idempotent?);
    let step = HttpStep {
        name,
        request,
        reads,
        when,
        for_each,
        timeout,
        format,
        accept,
        done_on,
        refused_when,
        because,
        store,
        idempotent,
    };
    check_for_each(reader, &fields, &step)?;
    check_keys(reader, &fields, step, purpose)
}

/// Checks that a step with `forEach` writes, uses its items, and stores nothing.
fn check_for_each(reader: &mut Reader<'_>, fields: &Fields<'_>, step: &HttpStep) -> Option<()> {
    let Some(node) = fields.get(FOR_EACH) else { return Some(()) };
    let (place, method) = (fields.place(FOR_EACH), &step.request.method);
    if step.looks_up() {
        let message = format!("{place}: a {method} only looks something up, and later steps see no answers of a list");
        return reader.refuse(node.at, message);
    }
    if let Some(node) = fields.get("store") {
        let place = fields.place("store");
        return reader.refuse(node.at, format!("{place}: with forEach there are several answers; leave it out"));
    }
    if !step.request.reads(ITEM) {
        return reader.refuse(node.at, format!("{place}: no template of the request reads `item`"));
    }
    Some(())
}

fn read_because(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<Because> {
    if reader.text(node, place)? == NO_REASON {
        return Some(Because::Nothing);
    }
    read_value(reader, node, &reader.site(place, scope)).map(Box::new).map(Because::Template)
}

/// Checks method-specific keys: GET and HEAD have no body, only a POST may set `reads`, only a write sends a key, and
/// only a deleting step sets `doneOn`.
fn check_keys(reader: &mut Reader<'_>, fields: &Fields<'_>, step: HttpStep, purpose: Purpose) -> Option<HttpStep> {
    let method = &step.request.method;
    if let Some(node) = fields.get("reads").filter(|_| *method != Method::POST) {
        let always = if step.looks_up() { "always looks something up" } else { "always writes" };
        let message = format!("{}: only a POST says that; a {method} {always}: leave it out", fields.place("reads"));
        return reader.refuse(node.at, message);
    }
    let is_change = purpose == Purpose::Replacing && !step.looks_up() && !purpose.deletes(method);
    if let Some(node) = fields.get("doneOn").filter(|_| is_change) {
        let message = format!("{}: in a replacement only a DELETE says when it is done", fields.place("doneOn"));
        return reader.refuse(node.at, message);
    }
    if let Some(node) = fields.get("idempotent").filter(|_| step.looks_up()) {
        let place = fields.place("idempotent");
        let message = format!("{place}: a {method} only looks something up, and sends no key; leave it out");
        return reader.refuse(node.at, message);
    }
    let body_keys: &[&str] = if *method == Method::POST { &[] } else { WRITE_KEYS };
    let refused = body_keys.iter().chain(&["doneOn"]).find_map(|key| Some((*key, fields.get(key)?)));
    match refused.filter(|_| step.looks_up()) {
        Some((key, node)) => {
            let place = fields.place(key);
            reader.refuse(node.at, format!("{place}: a {method} only looks something up, and has no {key}"))
        }
        None => Some(step),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
