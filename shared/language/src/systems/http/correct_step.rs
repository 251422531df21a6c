//! One request of a correction, and the meaning of its response.

mod purpose;

use std::time::Duration;

use http::Method;
use serde_json::Value;

use crate::cel::{EvaluationError, Expression, Expressions, ITEM, STEPS, Scope, ValueTemplate, Variables};
use crate::section::{Leaf, Section, map, section, text, truth};
use crate::spec::naming::step_name;
use crate::spec::status_fields::{StatusTemplates, status_templates};
use crate::systems::http::for_each::ForEach;
use crate::systems::http::format::{Format, WrittenFormat};
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::request::body::Body;
use crate::systems::http::request::kind::RequestKind;
use crate::systems::http::statuses::{NOT_MODIFIED, StatusSet, statuses};
use crate::systems::step_timeout::step_timeout;
use crate::systems::steps::{ACTIONS, Role, Step, StepSection};
use crate::yaml::{Fields, Node, Reader, expression, value_template};

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
#[derive(Debug, Section)]
#[section(context = Purpose, scoped, check = Self::settle)]
pub struct HttpStep {
    /// Later steps see the response as steps.NAME.
    #[key(step_name())]
    pub name: Option<String>,
    /// A POST that only looks something up, as in JSON-RPC. Default: false.
    #[key(truth())]
    pub reads: Option<bool>,
    /// Skipped if this ${…} is false.
    #[key(text(expression(context.asking())))]
    pub when: Option<Expression>,
    /// Sent once for each item of this list: ${desired.a}. At most 100.
    #[key(text(for_each(context.asking())))]
    pub for_each: Option<ForEach>,
    /// The request.
    #[key(flatten = RequestKind::Step(context.asking()))]
    pub request: RequestTemplate,
    /// Deadline of the request. 1ms to 10m, default 10s.
    #[key(step_timeout())]
    pub timeout: Option<Duration>,
    /// The format of the response.
    #[key(flatten = (), of = WrittenFormat)]
    pub format: Format,
    /// Statuses that mean done. Default: [200-299], and 404 and 410 for a deletion.
    #[key(statuses(NOT_MODIFIED), default = StatusSet::success())]
    pub accept: StatusSet,
    /// Statuses that mean gone; others of accept mean that the deletion goes on. Default: those of accept.
    // Equal to `accept` if not written, and for steps that do not delete.
    #[key(statuses(NOT_MODIFIED), default = StatusSet(Vec::new()), only = context.may_delete())]
    pub done_on: StatusSet,
    /// The response is a definite refusal.
    #[key(text(expression(context.judging())))]
    pub refused_when: Option<Expression>,
    /// The reason of a refusal. Default: what the server says. none: nothing.
    #[key(text(because(context.judging())), default = Because::Server)]
    pub because: Because,
    /// Fields of the object's .status over response. Not in delete.
    #[key(map(status_templates(context.judging())), default, only = context.stores())]
    pub store: StatusTemplates,
    /// The system honours Idempotency-Key. Only in create.
    // The author asserts it. A repeated request with the same key then creates no second resource.
    #[key(default, only = context == Purpose::Creating)]
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

/// The steps of one action. Each sees the responses of those before it.
impl StepSection for HttpStep {
    type Context = ();

    const ACTIONS: &'static [&'static str] = &ACTIONS;

    fn steps(action: &'static str, (): ()) -> impl Leaf<Value = Vec<Self>> {
        section::<Self>(Purpose::of(action)).listed(|step, reader, node, place| {
            let names = reader.names();
            let steps = reader.list(node, place, 1..=MAX_STEPS, |reader, item, place| {
                let step = step.read(reader, item, place);
                // Invalid steps count too: their uses must not be reported as unknown. A step with several responses
                // has none to show.
                let named = item.get("name").and_then(Node::as_text).filter(|_| item.get(FOR_EACH).is_none());
                reader.names_mut().steps.extend(named.map(str::to_owned));
                step
            });
            reader.set_names(names);
            let steps = steps?;
            if steps.iter().all(HttpStep::looks_up) {
                let message =
                    format!("{place}: no step writes; method POST (without reads: true), PUT, PATCH or DELETE does");
                return reader.refuse(node.at, message);
            }
            Some(steps)
        })
    }
}

impl HttpStep {
    /// Completes the statuses, and checks that the keys fit the method.
    fn settle(mut self, reader: &mut Reader<'_>, fields: &Fields<'_>, purpose: Purpose) -> Option<Self> {
        let done_on = fields.get("doneOn").map(|_| self.done_on);
        (self.accept, self.done_on) = purpose.settle(&self.request.method, self.accept, done_on);
        check_for_each(reader, fields, &self)?;
        check_keys(reader, fields, self, purpose)
    }
}

/// Returns a reader of the list of a step. Templates that are read later know its items.
fn for_each(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<ForEach> {
    move |reader, node, place| {
        let list = expression(scope)(reader, node, place);
        reader.names_mut().item = true;
        list.map(ForEach)
    }
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

fn because(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Because> {
    move |reader, node, place| {
        if reader.text(node, place)? == NO_REASON {
            return Some(Because::Nothing);
        }
        value_template(scope)(reader, node, place).map(Box::new).map(Because::Template)
    }
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
    let mut keys = if *method == Method::POST { Vec::new() } else { Body::names(RequestKind::Step(purpose.asking())) };
    keys.push("doneOn");
    let refused = keys.into_iter().find_map(|key| Some((key, fields.get(key)?)));
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
