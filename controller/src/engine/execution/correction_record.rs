//! The record of a correction: the fields of the log line at its end.

use std::time::Duration;

use drift_api::condition::Tag;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use crate::engine::corrections::outcome::{Code, Refusal, StepAnswer, StepOutcome};

/// Answers that a record shows before the last one: more than the steps of an action, and short enough that the line
/// stays below the 16 KiB at which container runtimes split it.
const MAX_STEPS: usize = 32;

/// The fields of one correction, collected from its first request on.
#[derive(Clone, Debug, Default)]
pub(super) struct CorrectionRecord {
    began: Option<Moment>,
    /// The differences as the poller found them, with redacted values.
    pub(super) drift: String,
    steps: Vec<String>,
}

impl CorrectionRecord {
    /// Begins the record of a correction of this object. Returns false if it began with an earlier step.
    pub(super) fn begin(&mut self, object: &LeanObject, now: Moment) -> bool {
        let is_first = self.began.is_none();
        if is_first {
            let verdict = object.conditions.observed().filter(|_| !object.deleting);
            let drift = verdict.map(|condition| Tag::split(condition.message.text()).0.to_owned());
            *self = Self { began: Some(now), drift: drift.unwrap_or_default(), steps: Vec::new() };
        }
        is_first
    }

    /// Adds the answer to a step with this name.
    pub(super) fn add(&mut self, step: &str, answer: &StepAnswer) {
        let result = match (&answer.outcome, answer.code) {
            (StepOutcome::Open(_) | StepOutcome::NotNow { .. } | StepOutcome::Overtaken, _) => return,
            (_, Some(code)) => code.short(),
            (StepOutcome::Refused { refusal: Refusal { code: Code::Job, .. }, .. }, None) => "failed".to_owned(),
            (StepOutcome::Refused { refusal, .. } | StepOutcome::AlreadyExists(refusal), None) => refusal.code.short(),
            (StepOutcome::Indefinite(uncertainty), None) => {
                uncertainty.code.map_or("no answer".to_owned(), Code::short)
            }
            (StepOutcome::NotThere, None) => "not there".to_owned(),
            (_, None) => "done".to_owned(),
        };
        self.steps.push(format!("{step}: {result}"));
    }

    /// Returns the answers in order: `1: 201, 2: 204`. Of a long list of items only the first ones and the last.
    pub(super) fn steps(&self) -> String {
        match self.steps.split_last() {
            Some((last, others)) if others.len() > MAX_STEPS => {
                let more = others.len() - MAX_STEPS;
                format!("{}, … and {more} more, {last}", others[..MAX_STEPS].join(", "))
            }
            _ => self.steps.join(", "),
        }
    }

    /// Returns the time from the first request until `now`; `None` if nothing was sent.
    pub(super) fn duration(&self, now: Moment) -> Option<Duration> {
        Some(now.saturating_since(self.began?))
    }
}
