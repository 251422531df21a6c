//! One read: its sequence of requests, and the observation from all responses.
//!
//! Every request must be answered, because no response replaces another. This module sends nothing itself.

use drift_api::condition::ObservedReason;
use drift_api::object::object_view::OpenView;
use drift_language::{HttpRead, HttpRequest, RawAnswers, ReadStep, Variables, memory_of};
use drift_systems::{HttpReply, MAX_BYTES_KEPT, ReplyBody};
use http::StatusCode;
use serde_json::{Map, Value};

use crate::engine::judgement::observation::unevaluated;
use crate::engine::judgement::{Failure, Found, Observation, ReadRules};
use crate::engine::poll::entity_tag::{EntityTag, Tagged, can_be_tagged};
use crate::engine::poll::http_reply::judge;
use crate::engine::poll::known_finding::{Fingerprint, KnownFinding, SeenAnswers};

/// Message of a read whose responses take too much memory.
const TOO_MUCH: &str = "read.http.steps: the answers take more than 8 MiB of memory; ask for less, or for a page of it";

/// A read in progress.
#[derive(Debug)]
pub struct Reading<'r> {
    read: &'r HttpRead,
    object: &'r OpenView<'r>,
    /// Responses so far, by step name.
    answers: Value,
    /// Raw bytes of the responses.
    raw: RawAnswers,
    /// Memory that both take, in bytes.
    kept: usize,
    /// Index of the step whose response is awaited.
    step: usize,
    /// Entity tag of the conditional request.
    unless: Option<EntityTag>,
    tagged: Option<Tagged>,
    /// Last finding about the object.
    known: Option<&'r KnownFinding>,
    seen: SeenAnswers,
    /// Fingerprint of all responses, once no request follows.
    judged: Option<Fingerprint>,
}

/// Progress of a read after a response.
#[derive(Debug)]
pub enum Progress<T> {
    /// Send this request next.
    Ask(Box<HttpRequest>),
    /// The read is complete, with its result or the reason for none.
    Done(Result<T, Failure>),
}

impl<'r> Reading<'r> {
    /// Creates the read of `object`, whose first request is running.
    #[must_use]
    pub fn new(read: &'r HttpRead, object: &'r OpenView<'r>) -> Self {
        let (answers, raw) = (Value::Object(Map::new()), RawAnswers::default());
        let seen = SeenAnswers::to(read);
        Self {
            read,
            object,
            answers,
            raw,
            kept: 0,
            step: 0,
            unless: None,
            tagged: None,
            known: None,
            seen,
            judged: None,
        }
    }

    /// Adds the last finding about the same object, to skip the judgement of equal responses.
    #[must_use]
    pub fn knowing(self, known: Option<&'r KnownFinding>) -> Self {
        Self { known, ..self }
    }

    /// Adds the entity tag of a conditional first request.
    #[must_use]
    pub fn unless(self, tag: Option<EntityTag>) -> Self {
        Self { unless: tag, ..self }
    }

    /// Returns the fingerprint of the judged responses, once all of them arrived.
    #[must_use]
    pub const fn judged(&self) -> Option<Fingerprint> {
        self.judged
    }

    /// Returns the memory of the responses that are kept until the last one, in bytes.
    #[must_use]
    pub const fn kept(&self) -> usize {
        self.kept
    }

    /// Returns the entity tag of the state that was read.
    #[must_use]
    pub fn into_tagged(self) -> Option<Tagged> {
        self.tagged
    }

    /// Processes the response to the running request.
    #[must_use]
    pub fn take(&mut self, reply: &HttpReply) -> Progress<Observation> {
        if self.unless.as_ref().is_some_and(|tag| tag.is_repeated_by(reply)) {
            self.tagged = Some(Tagged::Repeated);
            return Progress::Done(Ok(Observation::Known(Found::still_in_sync())));
        }
        if reply.status == StatusCode::OK && can_be_tagged(self.read) {
            self.tagged = EntityTag::of(reply).map(Tagged::Whole);
        }
        self.seen.add(reply);
        let answers = self.seen.fingerprint();
        let progress = match self.known.and_then(|known| known.in_answers(answers)) {
            Some(found) => Progress::Done(Ok(Observation::Known(found.clone()))),
            None => self.advance(reply).unwrap_or_else(|failure| Progress::Done(Err(failure))),
        };
        self.judged = matches!(progress, Progress::Done(_)).then_some(answers);
        progress
    }

    fn advance(&mut self, reply: &HttpReply) -> Result<Progress<Observation>, Failure> {
        let Some(step) = self.read.steps().nth(self.step) else {
            return Err(Failure::of(ObservedReason::ResponseInvalid));
        };
        let Some(answer) = judge(step, reply, &self.variables())? else {
            return Ok(Progress::Done(Ok(Observation::Absent)));
        };
        self.step += 1;
        self.keep_raw(step, reply);
        match self.read.steps().nth(self.step) {
            Some(next) => self.ask(step, answer, next),
            None => Ok(Progress::Done(self.observe(step, answer))),
        }
    }

    fn ask(&mut self, step: &ReadStep, answer: Value, next: &ReadStep) -> Result<Progress<Observation>, Failure> {
        self.keep(step, answer);
        if self.kept > MAX_BYTES_KEPT {
            return Err(Failure::with(ObservedReason::ResponseInvalid, TOO_MUCH));
        }
        let rendered = next.request.render(&self.variables());
        let request = rendered.map_err(|error| unevaluated(&next.request.attribute(error, self.object)))?;
        Ok(Progress::Ask(Box::new(request)))
    }

    /// Returns the observation of all responses together.
    fn observe(&mut self, step: &ReadStep, answer: Value) -> Result<Observation, Failure> {
        if step.name.is_some() {
            self.keep(step, answer.clone());
        }
        let variables = Variables { response: Some(&answer), ..self.variables() };
        let rules = ReadRules {
            // The rule was already evaluated for each step's response.
            absent_when: None,
            valid_when: self.read.valid_when.as_ref(),
            settling_when: self.read.settling_when.as_ref(),
            observed: &self.read.observed,
        };
        rules.observe(&variables)
    }

    fn keep(&mut self, step: &ReadStep, answer: Value) {
        if let (Some(name), Some(answers)) = (&step.name, self.answers.as_object_mut()) {
            self.kept += memory_of(&answer);
            answers.insert(name.clone(), answer);
        }
    }

    fn keep_raw(&mut self, step: &ReadStep, reply: &HttpReply) {
        if let (Some(name), ReplyBody::Whole(bytes)) = (&step.name, &reply.body) {
            self.kept += bytes.len();
            self.raw.keep(name, bytes);
        }
    }

    fn variables(&self) -> Variables<'_> {
        Variables { steps: Some(&self.answers), raw: Some(&self.raw), ..Variables::of_object(self.object) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
