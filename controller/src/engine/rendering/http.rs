//! The HTTP requests of one correction, rendered from the object and from earlier responses, and the meaning
//! of the responses.
//!
//! Every part that needs no response is rendered before the first request is sent. So a failing template changes
//! nothing outside, as far as this can be detected early.

mod answers;
mod fingerprint;
mod items;
mod parts;
mod repeats;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::StatusFields;
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_language::cel::{RawAnswers, SecretValues, Variables};
use drift_language::{ForEach, Format, HttpRequest, HttpStep, STEP_TIMEOUT, Step as _, Target, memory_of};
use drift_systems::sessions::{credentials_sent, session_values};
use drift_systems::{Answer, HttpFailure, HttpReply, MAX_BYTES_KEPT, ReplyBody, Unreadable, retry_after};
use http::{HeaderName, HeaderValue};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::engine::corrections::{Correction, StepAnswer, StepOutcome, Uncertainty};
use crate::engine::rendering::desired::desired_of;
use crate::engine::rendering::plan::{Plan, PlannedStep};
use crate::engine::rendering::requests::{Reply, Request, Requests};
use crate::engine::rendering::secrets::ObjectSecrets;
use crate::engine::rendering::unrenderable::Unrenderable;
use answers::{judge_answer, judge_failure, not_looked_up};
use fingerprint::fingerprint;
use items::{Items, seen_as};
pub(super) use parts::Parts;

/// Header by which an external system recognizes a repeated request.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Cause when the values to store contain a secret.
const REPEATED: &str = "the answer repeats a secret that was sent";

/// Maximum session credentials that a refusal is searched for. A log-in has one or two, and a search takes time for
/// each.
const MAX_SESSIONS: usize = 100;

/// Requests of one correction during its execution.
pub struct Rendering {
    target: Arc<Target>,
    /// Object as templates see it. Several steps read it.
    object: Value,
    uid: Uid,
    correction: Correction,
    desired: Option<Value>,
    /// Keys of `desired` that differ.
    differs: Option<Value>,
    /// Responses by step name, without skipped steps. Responses of the deletion part are not visible to the
    /// steps after it.
    answers: [Value; 2],
    raw: [RawAnswers; 2],
    /// Memory that the responses take, in bytes.
    kept: usize,
    /// Items of the current step, if it has a list of them.
    items: Option<Items>,
    secrets: ObjectSecrets,
    /// Secrets as the steps see them.
    values: SecretValues,
    /// Secrets that must not appear in shown or stored parts of a response.
    kept_secret: SecretValues,
    /// Texts that the last request of each step sent as credentials.
    sent: BTreeMap<usize, BTreeSet<String>>,
    /// Part of the last response to store in the object's status.
    stored: StatusFields,
}

impl Rendering {
    /// Creates the unsent requests of a correction.
    ///
    /// # Errors
    /// Fails when a template fails for this object, or the target has no such steps.
    pub fn new(
        target: &Arc<Target>,
        object: &LeanObject,
        correction: &Correction,
        secrets: ObjectSecrets,
    ) -> Result<Self, Unrenderable> {
        let parts = Parts::of(target, correction.action);
        if parts.step(0).is_none() {
            return Err(Unrenderable::new(format!("correct has no {}", correction.action.as_str())));
        }
        let (desired, differs) = desired_of(target, object, correction, parts.deletion() > 0)?;
        let sent = parts.iter().flat_map(|step| names_sent(target, |name| step.sends(name))).collect();
        let rendering = Self {
            target: target.clone(),
            object: object.view.open().clone(),
            uid: object.id.uid.clone(),
            correction: Correction { sent_versions: secrets.fingerprint(&sent), ..correction.clone() },
            desired,
            differs,
            answers: [Value::Object(Map::new()), Value::Object(Map::new())],
            raw: Default::default(),
            kept: 0,
            items: None,
            values: secrets.values(),
            kept_secret: secrets.kept_secret(),
            sent: BTreeMap::new(),
            secrets,
            stored: StatusFields::NONE,
        };
        rendering.try_out()?;
        Ok(rendering)
    }

    /// Renders every part that needs no response.
    fn try_out(&self) -> Result<(), Unrenderable> {
        let mut steps = self.parts().iter().enumerate();
        steps.try_for_each(|(index, step)| {
            step.try_without_answers(&self.variables(index)).map_err(|error| self.failing(index, error))?;
            self.check_length(index)
        })
    }

    /// Returns the plan of the steps.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let parts = self.parts();
        let planned = |(index, step): (usize, &HttpStep)| PlannedStep {
            label: self.label(index),
            looks_up: step.looks_up(),
            lists_answers: step.for_each.as_ref().is_some_and(ForEach::needs_answers),
            sends: self.sent_by(step),
        };
        let steps = parts.iter().enumerate().map(planned).collect();
        Plan { steps, deletion: parts.deletion(), secrets: self.secrets.marks() }
    }

    fn parts(&self) -> Parts<'_> {
        Parts::of(&self.target, self.correction.action)
    }

    fn failing(&self, index: usize, error: impl Display) -> Unrenderable {
        let sent = self.parts().step(index).map(|step| self.sent_by(step)).unwrap_or_default();
        let lacking = self.secrets.missing(&sent);
        match self.item_label(index) {
            Some(item) => Unrenderable::at(Some(item.clone()), format_args!("{item}: {error}"), lacking),
            None => Unrenderable::at(self.label(index), error, lacking),
        }
    }

    fn sent_by(&self, step: &HttpStep) -> BTreeSet<String> {
        names_sent(&self.target, |name| step.sends(name))
    }

    /// Returns the next request of this step, with an idempotency key if it is a write; `None` if the step is skipped,
    /// or no item of its list is left.
    ///
    /// # Errors
    /// Fails when a template fails for this object and these responses, or the list is too long.
    pub fn request(&mut self, index: usize) -> Result<Option<HttpRequest>, Unrenderable> {
        if self.items.as_ref().is_none_or(|items| items.step != index) {
            self.items = self.list(index)?;
        }
        let Some(step) = self.parts().step(index) else { return Ok(None) };
        let variables = self.variables(index);
        let is_due = match &self.items {
            Some(items) => items.current().is_some(),
            None => step.is_due(&variables).map_err(|error| self.failing(index, error))?,
        };
        if !is_due {
            return Ok(None);
        }
        let mut request = step.request.render(&variables).map_err(|error| self.failing(index, error))?;
        self.check_repeats(index, step, &request)?;
        let (sent, host) = (self.sent_by(step), request.host());
        let allowed = self.secrets.check_host(&sent, &host, request.has_chosen_host);
        allowed.map_err(|error| Unrenderable::at(self.label(index), "", Some(&error)))?;
        if !step.looks_up() {
            let (varying, item) = (Some(&request).filter(|_| step.request.may_vary()), variables.item);
            let content = (varying.is_some() || item.is_some()).then(|| fingerprint(varying, item));
            let key = self.correction.idempotency_key(&self.uid, index, content);
            let key = HeaderValue::from_str(&key).map_err(|error| self.failing(index, error))?;
            Arc::make_mut(&mut request.headers).insert(IDEMPOTENCY_KEY, key);
        }
        self.sent.insert(index, credentials_sent(&request));
        Ok(Some(request))
    }

    /// Judges the response to the request of this step and keeps it for later steps. `retry_after` is the delay that
    /// the response asks for.
    pub fn take_answer(&mut self, index: usize, reply: &HttpReply, retry_after: Option<Duration>) -> StepOutcome {
        let status = reply.status.as_u16();
        let (target, part) = (self.target.clone(), self.parts().part(index));
        let Some(step) = Parts::of(&target, self.correction.action).step(index) else { return StepOutcome::Accepted };
        let status_alone = json!({"status": status});
        let (answer, unread) = match Answer::of(reply, &step.format) {
            Ok(answer) => (answer.variable, None),
            // The response has no body that a template could read.
            Err(unread) => (status_alone.clone(), Some(unread)),
        };
        let is_kept = self.make_room(step, &answer);
        let unread = unread.or((!is_kept).then_some(Unreadable::TooLarge)).filter(|_| step.looks_up());
        let (name, variables) =
            (seen_as(step).cloned(), Variables { response: Some(&answer), ..self.variables(index) });
        let outcome = match (judge_answer(step, (reply, retry_after), &variables, || self.hidden(&answer)), &unread) {
            (outcome, Some(unread)) if outcome.is_accepted() => not_looked_up(unread, status),
            (outcome, _) => outcome,
        };
        let outcome = match outcome.is_accepted().then(|| step.store.store(&variables)).transpose() {
            Ok(Some(stored)) if stored.any(|value| self.kept_secret.occur_in(value)) => {
                StepOutcome::Unstored(REPEATED.to_owned())
            }
            Ok(stored) => {
                self.stored = stored.unwrap_or_default();
                outcome
            }
            Err(error) => StepOutcome::Unstored(error.to_string()),
        };
        if let (Some(name), ReplyBody::Whole(bytes), true) = (&name, &reply.body, is_kept) {
            self.raw[part].keep(name, bytes);
        }
        if let (Some(name), Some(answers)) = (name, self.answers[part].as_object_mut()) {
            answers.insert(name, if is_kept { answer } else { status_alone });
        }
        if outcome.is_accepted() {
            self.items.iter_mut().for_each(Items::advance);
        }
        outcome
    }

    /// Returns the secrets that no reason shows: those that were sent, and the sessions in the responses. `None` if
    /// these are too many to search.
    fn hidden(&self, answer: &Value) -> Option<SecretValues> {
        let earlier = self.answers.iter().filter_map(Value::as_object).flat_map(Map::values);
        let sessions = session_values(earlier.chain([answer]), self.sent.values().flatten());
        let is_few = sessions.len() <= MAX_SESSIONS;
        let sessions: SecretValues = sessions.into_iter().map(|text| (text.clone(), text)).collect();
        is_few.then(|| self.kept_secret.clone().and_former(&sessions))
    }

    /// Reserves memory for a response that later steps see. Returns false if there is no room. Its bytes count twice,
    /// because they are kept as text and raw.
    fn make_room(&mut self, step: &HttpStep, answer: &Value) -> bool {
        let bytes = answer["text"].as_str().map_or(0, str::len);
        let needed = if seen_as(step).is_some() { memory_of(answer) + bytes } else { 0 };
        let has_room = self.kept + needed <= MAX_BYTES_KEPT;
        if has_room {
            self.kept += needed;
        }
        has_room
    }

    /// Judges a request that got no response.
    #[must_use]
    pub fn judge_failure(&self, failure: &HttpFailure) -> Uncertainty {
        judge_failure(failure, &self.kept_secret)
    }

    /// Adds secrets that requests were sent with, so that no shown response repeats them.
    fn keep_secret(&mut self, sent: &SecretValues) {
        self.kept_secret = std::mem::take(&mut self.kept_secret).and_former(sent);
    }

    /// Takes the part of the last response to store in the object's status.
    pub fn take_stored(&mut self) -> StatusFields {
        std::mem::take(&mut self.stored)
    }

    /// Returns the variables that the step of this index sees.
    fn variables(&self, index: usize) -> Variables<'_> {
        let part = self.parts().part(index);
        Variables {
            desired: self.desired.as_ref(),
            differs: self.differs.as_ref(),
            correction: Some(self.correction.asked_as()),
            steps: Some(&self.answers[part]),
            raw: Some(&self.raw[part]),
            item: self.items.as_ref().filter(|items| items.step == index).and_then(Items::current),
            secrets: Some(&self.values),
            ..Variables::of_object(&self.object)
        }
    }
}

impl Requests for Rendering {
    fn plan(&self) -> Plan {
        self.plan()
    }

    fn render(&mut self, index: usize) -> Result<Option<Request>, Unrenderable> {
        let Some(request) = self.request(index)? else { return Ok(None) };
        let step = self.parts().step(index);
        let deadline = step.and_then(|step| step.timeout).unwrap_or(STEP_TIMEOUT);
        let format = step.map_or(Format::Json, |step| step.format.clone());
        Ok(Some(Request::Http { request: Box::new(request), deadline, format }))
    }

    fn item_label(&self, index: usize) -> Option<Arc<str>> {
        self.item_label(index)
    }

    fn probes(&self) -> Vec<HttpRequest> {
        let probe = |(index, step): (usize, &HttpStep)| step.request.probe(&self.variables(index));
        self.parts().iter().enumerate().filter_map(probe).collect()
    }

    fn judge(&mut self, index: usize, reply: Reply, wall: Timestamp) -> StepAnswer {
        let Reply::Http { response, sent } = reply else { return reply.unanswered() };
        self.keep_secret(&sent);
        match response {
            Ok(reply) => {
                let outcome = self.take_answer(index, &reply, retry_after(&reply.headers, wall));
                let (code, stored) = (Some(reply.status.as_u16().into()), self.take_stored());
                StepAnswer { code, stored, ..StepAnswer::of(outcome) }
            }
            Err(failure) => StepAnswer::of(StepOutcome::Indefinite(self.judge_failure(&failure))),
        }
    }
}

/// Returns the names of the target's secrets that `sends` selects.
pub(in crate::engine) fn names_sent(target: &Target, sends: impl Fn(&str) -> bool) -> BTreeSet<String> {
    target.secrets.iter().map(|secret| &secret.name).filter(|name| sends(name)).cloned().collect()
}

impl fmt::Debug for Rendering {
    /// Omits sent and received data.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rendering = formatter.debug_struct("Rendering");
        rendering.field("target", &self.target.name).field("uid", &self.uid).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod repeats_tests;
#[cfg(test)]
mod secrecy_tests;
#[cfg(test)]
mod tests;
