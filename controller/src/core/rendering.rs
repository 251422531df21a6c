//! The requests of one correction, each made of the object and of the answers to those before it, and what the answers mean.
//!
//! Whatever needs no answer is rendered before the first request is sent, so that a template that fails changes nothing
//! outside as far as that can be known. This file must not know how a request is sent, nor what follows on an answer.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use drift_model::http_request::HttpRequest;
use drift_model::identity::Uid;
use drift_model::object::LeanObject;
use drift_outside::{Answer, HttpReply};
use drift_target::cel::Variables;
use drift_target::{Destination, Format, HttpStep, Target};
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::claim::Action;
use super::correction::Correction;
use super::outcome::{Refusal, StepOutcome, judge};
use super::plan::{Plan, PlannedStep};

/// The header by which an external system knows a request that it has seen.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Characters of an answer that people are shown of a refusal: an error's first line, and it shares a message with the rest.
const MAX_BECAUSE_CHARS: usize = 128;

/// Said where an accepted answer has nothing that `refusedWhen` could be asked of.
const UNJUDGED: &str = "refusedWhen cannot be evaluated for the answer";

/// The requests of one correction on their way.
#[derive(Debug)]
pub struct Rendering {
    target: Arc<Target>,
    object: Arc<Value>,
    uid: Uid,
    correction: Correction,
    desired: Option<Value>,
    /// By the names of their steps; those that were skipped are missing.
    answers: Value,
}

/// A template cannot be evaluated for the object, or for the answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Unrenderable {
    /// What its step is called.
    pub label: Option<Arc<str>>,
    /// What is wrong.
    pub cause: String,
}

impl Unrenderable {
    pub(crate) fn new(cause: impl Display) -> Self {
        Self { label: None, cause: cause.to_string() }
    }
}

impl Rendering {
    /// The requests of a correction, none of which was sent.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object, or the target has no such steps.
    pub fn new(target: &Arc<Target>, object: &LeanObject, correction: &Correction) -> Result<Self, Unrenderable> {
        if steps_of(target, correction.action).is_empty() {
            return Err(Unrenderable::new(format!("correct has no {}", correction.action.as_str())));
        }
        let desired = match target.wish_of(&object.view) {
            Ok(wished) => Some(wished.desired),
            // A deletion wishes for nothing, so it fails only where a step reads what cannot be told.
            Err(_) if correction.action == Action::Delete => None,
            Err(error) => return Err(Unrenderable::new(error)),
        };
        let rendering = Self {
            target: target.clone(),
            object: object.view.clone(),
            uid: object.id.uid.clone(),
            correction: correction.clone(),
            desired,
            answers: Value::Object(Map::new()),
        };
        rendering.try_out()?;
        Ok(rendering)
    }

    /// Renders whatever needs no answer.
    fn try_out(&self) -> Result<(), Unrenderable> {
        let mut steps = self.steps().iter().enumerate();
        steps.try_for_each(|(index, step)| {
            step.try_without_answers(&self.variables()).map_err(|error| self.failing(index, error))
        })
    }

    /// What the steps are.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let planned =
            |(index, step): (usize, &HttpStep)| PlannedStep { label: self.label(index), looks_up: step.looks_up() };
        let steps: Vec<PlannedStep> = self.steps().iter().enumerate().map(planned).collect();
        let deletion = if self.correction.action == Action::Delete { steps.len() } else { 0 };
        Plan { steps, deletion }
    }

    /// What is known of each request before any is sent: where it goes to.
    pub fn probes(&self) -> impl Iterator<Item = HttpRequest> {
        let variables = self.variables();
        self.steps().iter().filter_map(move |step| step.request.probe(&variables))
    }

    fn steps(&self) -> &[HttpStep] {
        steps_of(&self.target, self.correction.action)
    }

    /// What people are told that the step is called.
    fn label(&self, index: usize) -> Option<Arc<str>> {
        match self.steps() {
            [step] => step.name.as_deref().map(Arc::from),
            steps => Some(match &steps.get(index)?.name {
                Some(name) => name.as_str().into(),
                None => (index + 1).to_string().into(),
            }),
        }
    }

    fn failing(&self, index: usize, error: impl Display) -> Unrenderable {
        Unrenderable { label: self.label(index), cause: error.to_string() }
    }

    /// The request of this step with its idempotency key, if it is a write; `None` where the step is skipped.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object and these answers.
    pub fn request(&self, index: usize) -> Result<Option<HttpRequest>, Unrenderable> {
        let Some(step) = self.steps().get(index) else { return Ok(None) };
        let variables = self.variables();
        if !step.is_due(&variables).map_err(|error| self.failing(index, error))? {
            return Ok(None);
        }
        let mut request = step.request.render(&variables).map_err(|error| self.failing(index, error))?;
        if !step.looks_up() {
            let answers = step.request.reads_answers().then(|| fingerprint(&request));
            let key = self.correction.idempotency_key(&self.uid, index, answers);
            let key = HeaderValue::from_str(&key).map_err(|error| self.failing(index, error))?;
            request.headers.insert(IDEMPOTENCY_KEY, key);
        }
        Ok(Some(request))
    }

    /// What the answer to the request of this step means; later steps see it. `retry_after` is what it asked for.
    pub fn take_answer(&mut self, index: usize, reply: &HttpReply, retry_after: Option<Duration>) -> StepOutcome {
        let status = reply.status.as_u16();
        let Some(step) = self.steps().get(index) else { return StepOutcome::Accepted };
        let answer = match Answer::of(reply, Format::Json) {
            Ok(answer) => answer.variable,
            // It has no body that a template could see.
            Err(_) => json!({"status": status}),
        };
        let variables = Variables { response: Some(&answer), ..self.variables() };
        let because = || step.because(&variables).map(|text| shown(&text)).filter(|text| !text.is_empty());
        let refused = step.is_refused(&variables);
        let outcome = match (refused, judge(status, &step.accept, &step.done_on, retry_after)) {
            (Ok(true), _) => {
                StepOutcome::Refused { refusal: Refusal { status, because: because() }, did_nothing: true }
            }
            (Err(_), StepOutcome::Accepted | StepOutcome::Underway { .. }) => {
                let refusal = Refusal { status, because: Some(UNJUDGED.to_owned()) };
                StepOutcome::Refused { refusal, did_nothing: false }
            }
            (_, StepOutcome::Refused { did_nothing, .. }) => {
                StepOutcome::Refused { refusal: Refusal { status, because: because() }, did_nothing }
            }
            (_, outcome) => outcome,
        };
        if let (Some(name), Some(answers)) = (step.name.clone(), self.answers.as_object_mut()) {
            answers.insert(name, answer);
        }
        outcome
    }

    fn variables(&self) -> Variables<'_> {
        Variables {
            desired: self.desired.as_ref(),
            correction: Some(self.correction.number),
            steps: Some(&self.answers),
            ..Variables::of_object(&self.object)
        }
    }
}

fn steps_of(target: &Target, action: Action) -> &[HttpStep] {
    match (&target.correct.destination, action) {
        (None, _) => &[],
        (Some(Destination::Http(http)), Action::Create) => &http.create,
        (Some(Destination::Http(http)), Action::Update) => &http.update,
        (Some(Destination::Http(http)), Action::Delete) => &http.delete,
    }
}

/// Of what a request says, where that is made of answers: two that differ are not the same request.
fn fingerprint(request: &HttpRequest) -> u64 {
    let mut digest = Sha256::new();
    let mut take = |part: &[u8]| {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    };
    take(request.method.as_str().as_bytes());
    take(request.url.as_str().as_bytes());
    for (name, value) in &request.headers {
        take(name.as_str().as_bytes());
        take(value.as_bytes());
    }
    take(request.body.as_deref().unwrap_or_default());
    digest.finalize().iter().take(size_of::<u64>()).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

/// One line of printable characters. What ends with `]` could be taken for the ending of a note.
fn shown(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control() || is_invisible(letter));
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let line = match line.char_indices().nth(MAX_BECAUSE_CHARS) {
        None => line,
        Some(_) => line.chars().take(MAX_BECAUSE_CHARS - 1).chain(['…']).collect(),
    };
    if line.ends_with(']') { format!("{line}.") } else { line }
}

/// Letters without a shape of their own, which turn or hide those beside them.
const fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
