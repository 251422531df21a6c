//! One read: which request comes next, and what the answers say together.
//!
//! Every request must be answered: what one of them cannot tell nothing else can. It sends nothing itself and must not know
//! how an answer came.

use drift_model::condition::ObservedReason;
use drift_model::http_request::HttpRequest;
use drift_outside::HttpReply;
use drift_target::cel::Variables;
use drift_target::{HttpRead, ReadStep};
use serde_json::{Map, Value};

use super::finding::Failure;
use super::reply::{Judged, Observation, invalid, judge};

/// A read under way.
#[derive(Debug)]
pub struct Reading<'r> {
    read: &'r HttpRead,
    object: &'r Value,
    /// The answers so far, by the names of their steps.
    answers: Value,
    /// The step whose answer is awaited.
    step: usize,
}

/// What follows on an answer.
#[derive(Debug)]
pub enum Progress<T> {
    /// This is to be asked next.
    Ask(Box<HttpRequest>),
    /// Nothing more is to be asked: what is known now, or why nothing is.
    Done(Result<T, Failure>),
}

impl<'r> Reading<'r> {
    /// The read of `object`, whose first request is under way.
    #[must_use]
    pub fn new(read: &'r HttpRead, object: &'r Value) -> Self {
        Self { read, object, answers: Value::Object(Map::new()), step: 0 }
    }

    /// Takes in the answer to the request under way.
    #[must_use]
    pub fn take(&mut self, reply: &HttpReply) -> Progress<Observation> {
        self.advance(reply).unwrap_or_else(|failure| Progress::Done(Err(failure)))
    }

    fn advance(&mut self, reply: &HttpReply) -> Result<Progress<Observation>, Failure> {
        let Some(step) = self.read.steps().nth(self.step) else {
            return Err(Failure::of(ObservedReason::ResponseInvalid));
        };
        let answer = match judge(step, reply, &self.variables())? {
            Judged::Absent => return Ok(Progress::Done(Ok(Observation::Absent))),
            Judged::Answered(answer) => answer,
        };
        self.step += 1;
        match self.read.steps().nth(self.step) {
            Some(next) => self.ask(step, answer, next),
            None => Ok(Progress::Done(self.observe(step, answer))),
        }
    }

    fn ask(&mut self, step: &ReadStep, answer: Value, next: &ReadStep) -> Result<Progress<Observation>, Failure> {
        self.keep(step, answer);
        let request = next.request.render(&self.variables()).map_err(|error| invalid(&error))?;
        Ok(Progress::Ask(Box::new(request)))
    }

    /// What all answers say together.
    fn observe(&mut self, step: &ReadStep, answer: Value) -> Result<Observation, Failure> {
        if step.name.is_some() {
            self.keep(step, answer.clone());
        }
        let variables = Variables { response: Some(&answer), ..self.variables() };
        if let Some(valid) = &self.read.valid_when
            && !valid.evaluate_bool(&variables).map_err(|error| invalid(&error))?
        {
            return Err(invalid(&"validWhen is false"));
        }
        if let Some(settling) = &self.read.settling_when
            && settling.evaluate_bool(&variables).map_err(|error| invalid(&error))?
        {
            return Err(Failure::of(ObservedReason::Settling));
        }
        self.read.observed.render(&variables).map(Observation::Present).map_err(|error| invalid(&error))
    }

    fn keep(&mut self, step: &ReadStep, answer: Value) {
        if let (Some(name), Some(answers)) = (&step.name, self.answers.as_object_mut()) {
            answers.insert(name.clone(), answer);
        }
    }

    fn variables(&self) -> Variables<'_> {
        Variables { steps: Some(&self.answers), ..Variables::of_object(self.object) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
