//! One request of a correction, and what its answer may mean.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use crate::cel::{DIFFERS, EvaluationError, Expression, STEPS, Scope, ValueTemplate, Variables};
use crate::secrets::secret_variable;
use crate::spec::naming::read_step_name;
use crate::spec::status_fields::{StatusTemplates, read_status_templates};
use crate::systems::http::body::WRITE_KEYS;
use crate::systems::http::request::{RequestTemplate, read_request};
use crate::systems::http::statuses::{StatusSet, read_step_accept};
use crate::systems::step_timeout::read_timeout;
use crate::yaml::Node;
use crate::yaml::reader::{Fields, Reader};
use crate::yaml::templates::{expression, read_value};
use drift_api::object::field_paths::FieldPaths;

/// Requests of one correction: it is one try, not a program.
const MAX_STEPS: usize = 16;

/// Keys of every step.
const STEP_KEYS: &[&str] =
    &["name", "method", "reads", "url", "headers", "when", "timeout", "accept", "refusedWhen", "because"];

/// One request of a correction.
#[derive(Debug)]
pub struct HttpStep {
    /// What later steps and people call it.
    pub name: Option<String>,
    /// What is sent. GET and HEAD only look something up, for the steps after it.
    pub request: RequestTemplate,
    /// Whether a POST only looks something up too, as in JSON-RPC; `None` where the target does not say.
    pub reads: Option<bool>,
    /// Whether it is sent at all; always where the target does not say.
    pub when: Option<Expression>,
    /// The deadline of the request; `None` where the default applies.
    pub timeout: Option<Duration>,
    /// Statuses that mean done; default 200–299, and always 404 and 410 for a step that deletes.
    pub accept: StatusSet,
    /// Statuses that mean that the resource is gone, for a step that deletes; any other that is accepted means that it
    /// is under way. The same as `accept` where the target says nothing, and for all other steps.
    pub done_on: StatusSet,
    /// What makes any answer a definite refusal.
    pub refused_when: Option<Expression>,
    /// What people are told of a refusal.
    pub because: Option<ValueTemplate>,
    /// What of an accepted answer is kept in the object's status.
    pub store: StatusTemplates,
    /// True if the external system honours the idempotency key of the request: sent again with the same key, it makes
    /// no second resource. The author's word, which nothing can check.
    pub idempotent: bool,
}

impl HttpStep {
    /// Returns true if it changes nothing outside.
    #[must_use]
    pub fn looks_up(&self) -> bool {
        matches!(self.request.method, Method::GET | Method::HEAD) || self.reads == Some(true)
    }

    /// Returns true if it sends the secret of that name.
    #[must_use]
    pub fn sends(&self, secret: &str) -> bool {
        self.request.reads(&secret_variable(secret))
    }

    /// Whether it is to be sent.
    ///
    /// # Errors
    /// Fails if `when` cannot be evaluated for this object and these answers.
    pub fn is_due(&self, variables: &Variables<'_>) -> Result<bool, EvaluationError> {
        self.when.as_ref().map_or(Ok(true), |when| when.evaluate_bool(variables))
    }

    /// Whether the answer in `response` is a definite refusal, whatever its status says.
    ///
    /// # Errors
    /// Fails if `refusedWhen` cannot be evaluated for this answer.
    pub fn is_refused(&self, variables: &Variables<'_>) -> Result<bool, EvaluationError> {
        self.refused_when.as_ref().map_or(Ok(false), |refused| refused.evaluate_bool(variables))
    }

    /// What people are told of the refusal in `response`; `None` where the answer does not have it, or it is no text.
    #[must_use]
    pub fn because(&self, variables: &Variables<'_>) -> Option<String> {
        match self.because.as_ref()?.render(variables).ok()? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(truth) => Some(truth.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Renders whatever is not made of answers, to see whether it can be.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn try_without_answers(&self, variables: &Variables<'_>) -> Result<(), EvaluationError> {
        let known = self.when.as_ref().filter(|when| !when.reads(STEPS));
        if known.map_or(Ok(true), |when| when.evaluate_bool(variables))? {
            self.request.try_without_answers(variables)?;
        }
        Ok(())
    }

    /// Returns true if anything of it depends on which fields differ.
    pub(crate) fn reads_differs(&self) -> bool {
        let mut rules = self.when.iter().chain(&self.refused_when);
        self.request.reads(DIFFERS)
            || rules.any(|rule| rule.reads(DIFFERS))
            || self.because.as_ref().is_some_and(|because| because.reads(DIFFERS))
            || self.store.reads(DIFFERS)
    }

    /// Returns true if it certainly changes nothing where this is the only key that differs.
    pub(crate) fn leaves(&self, key: &str) -> bool {
        self.looks_up() || self.when.as_ref().is_some_and(|when| when.is_false_where_differs(key))
    }

    /// The fields under `self` that its templates read.
    pub(crate) fn fields(&self) -> FieldPaths {
        let mut fields = self.request.fields();
        self.when.iter().chain(&self.refused_when).for_each(|rule| fields.extend(rule.fields()));
        self.because.iter().for_each(|because| fields.extend(&because.fields()));
        fields.extend(&self.store.fields());
        fields
    }
}

/// What the steps of an action are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Creating,
    Updating,
    Deleting,
    Replacing,
}

impl Purpose {
    fn keys(self) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Self::Creating => &["store", "idempotent"],
            Self::Updating => &["store"],
            // What is deleted takes its object along, and with it whatever would be stored.
            Self::Deleting => &["doneOn"],
            Self::Replacing => &["store", "doneOn"],
        };
        [STEP_KEYS, WRITE_KEYS, own].concat()
    }

    /// What a request sees, and what a rule over its answer sees.
    const fn scopes(self) -> [Scope; 2] {
        match self {
            Self::Creating | Self::Updating | Self::Replacing => [Scope::Correction, Scope::CorrectionAnswer],
            Self::Deleting => [Scope::Deletion, Scope::DeletionAnswer],
        }
    }

    /// Returns true if a step takes the resource away. In a replacement that is its method's word alone: to make anew what is
    /// answered 404 is not done.
    fn deletes(self, method: &Method) -> bool {
        self == Self::Deleting || self == Self::Replacing && *method == Method::DELETE
    }

    /// What a step accepts and what means done. What is gone already need not be deleted, and what means done is
    /// accepted.
    fn settle(self, method: &Method, accept: StatusSet, done_on: Option<StatusSet>) -> (StatusSet, StatusSet) {
        let gone = || StatusSet(vec![404..=404, 410..=410]);
        let accept = if self.deletes(method) { accept.and(&gone()) } else { accept };
        match done_on {
            None => (accept.clone(), accept),
            Some(done_on) => (accept.and(&done_on), done_on.and(&gone())),
        }
    }
}

/// Reads the steps of one action; each sees the answers of those before it.
pub(crate) fn read_steps(reader: &mut Reader<'_>, node: &Node, place: &str, purpose: Purpose) -> Option<Vec<HttpStep>> {
    let items = reader.items(node, place, 1..=MAX_STEPS)?;
    let steps = reader.each(items, place, |reader, item, place| {
        let step = read_step(reader, item, place, purpose);
        // Also of one that is wrong: what follows must not be blamed for it.
        let named = item.get("name").and_then(Node::as_text);
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
        // By index: a Method cannot be copied.
        let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        let choices = [("GET", 0), ("HEAD", 1), ("POST", 2), ("PUT", 3), ("PATCH", 4), ("DELETE", 5)];
        methods.into_iter().nth(reader.choice(node, place, &choices)?)
    });
    let reads = reader.optional(&fields, "reads", Reader::truth);
    let request = read_request(reader, &fields, method, &reader.site(place, asking));
    let when = reader.optional(&fields, "when", expression(asking));
    let timeout = read_timeout(reader, &fields);
    let accept = reader.or(&fields, "accept", StatusSet::success(), read_step_accept);
    let done_on = reader.optional(&fields, "doneOn", read_step_accept);
    let refused_when = reader.optional(&fields, "refusedWhen", expression(judging));
    let because = reader.optional(&fields, "because", |reader, node, place| read_because(reader, node, place, judging));
    let store = reader.or(&fields, "store", StatusTemplates::default(), |reader, node, place| {
        read_status_templates(reader, node, place, judging)
    });
    let idempotent = reader.or(&fields, "idempotent", false, Reader::truth);
    let (name, request, reads, when, timeout) = (name?, request?, reads?, when?, timeout?);
    let (accept, done_on) = purpose.settle(&request.method, accept?, done_on?);
    let (refused_when, because, store, idempotent) = (refused_when?, because?, store?, idempotent?);
    let step =
        HttpStep { name, request, reads, when, timeout, accept, done_on, refused_when, because, store, idempotent };
    check_keys(reader, &fields, step, purpose)
}

fn read_because(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<ValueTemplate> {
    reader.text(node, place)?;
    read_value(reader, node, &reader.site(place, scope))
}

/// A GET and a HEAD carry nothing, only a POST may say that it reads, only a write sends a key, and only what takes
/// something away says when that is done.
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
