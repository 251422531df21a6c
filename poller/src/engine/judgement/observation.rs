//! The observation of one read, and the rules that lead to it, in the order in which they are asked.
//!
//! Every kind of read has them, so that absence, a foreign answer and work that is still going on mean the same for all. What
//! is no observation is a [`Failure`].

use drift_api::condition::ObservedReason;
use drift_language::AnswerRules;
use drift_language::cel::{Expression, Mistake, ValueTemplate, Variables};
use serde_json::Value;

use crate::engine::judgement::finding::{Failure, Found};
use crate::engine::judgement::rendered::rule_error;

/// What a read says about the external resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// It is there, in this state.
    Present(Value),
    /// It is not there.
    Absent,
    /// Nothing changed since the last poll, which found this.
    Known(Found),
}

/// The rules of one read; what a target does not write is `None`.
#[derive(Clone, Copy, Debug)]
pub struct ReadRules<'r> {
    /// The rule for absence.
    pub absent_when: Option<&'r Expression>,
    /// The rule for a valid answer of the right system.
    pub valid_when: Option<&'r Expression>,
    /// The rule for a system that is still applying an earlier change.
    pub settling_when: Option<&'r Expression>,
    /// The template of the observed value.
    pub observed: &'r ValueTemplate,
}

impl<'r> From<&'r AnswerRules> for ReadRules<'r> {
    fn from(rules: &'r AnswerRules) -> Self {
        Self {
            absent_when: rules.absent_when.as_ref(),
            valid_when: rules.valid_when.as_ref(),
            settling_when: rules.settling_when.as_ref(),
            observed: &rules.observed,
        }
    }
}

impl ReadRules<'_> {
    /// Evaluates the rules.
    ///
    /// # Errors
    /// Why nothing can be said.
    pub fn observe(&self, variables: &Variables<'_>) -> Result<Observation, Failure> {
        let holds = |rule: Option<&Expression>, otherwise| rule.map_or(Ok(otherwise), |rule| ask(rule, variables));
        if holds(self.absent_when, false)? {
            return Ok(Observation::Absent);
        }
        if !holds(self.valid_when, true)? {
            return Err(invalid(&"validWhen is false"));
        }
        if holds(self.settling_when, false)? {
            return Err(Failure::of(ObservedReason::Settling));
        }
        let observed = self.observed.render(variables);
        observed
            .map(Observation::Present)
            .map_err(|error| unevaluated(&self.observed.attribute(error, variables.object)))
    }
}

/// A rule over an answer that cannot be evaluated: the answer is no observation, unless the object alone is to blame.
pub(in crate::engine) fn unevaluated(mistake: &Mistake) -> Failure {
    match mistake {
        Mistake::OfObject(error) => rule_error(error),
        Mistake::OfAnswer(error) => invalid(error),
    }
}

/// Evaluates one rule for an answer.
pub(in crate::engine) fn ask(rule: &Expression, variables: &Variables<'_>) -> Result<bool, Failure> {
    rule.evaluate_bool(variables).map_err(|error| unevaluated(&rule.attribute(error, variables.object)))
}

/// An answer that is no observation, for a reason of its own or of a rule.
pub(in crate::engine) fn invalid(mistake: &dyn std::fmt::Display) -> Failure {
    Failure::with(ObservedReason::ResponseInvalid, &mistake.to_string())
}
