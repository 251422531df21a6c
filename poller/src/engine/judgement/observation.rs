//! The observation of one read, and the rules that produce it, in their order of evaluation.
//!
//! Every kind of read has the same rules, so that absence, invalid responses and unfinished changes have the same
//! meaning. A result that is no observation is a [`Failure`].

use drift_api::condition::ObservedReason;
use drift_language::{AnswerRules, Expression, Mistake, ValueTemplate, Variables};
use serde_json::Value;

use crate::engine::judgement::finding::{Failure, Found};
use crate::engine::judgement::rendered::rule_error;

/// Observation of the external resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// The resource exists with this state.
    Present(Value),
    /// The resource does not exist.
    Absent,
    /// Nothing changed since the last poll, which had this finding.
    Known(Found),
}

/// Rules of one read; `None` for a rule that the target does not define.
#[derive(Clone, Copy, Debug)]
pub struct ReadRules<'r> {
    /// Rule for absence.
    pub absent_when: Option<&'r Expression>,
    /// Rule for a valid response of the right system.
    pub valid_when: Option<&'r Expression>,
    /// Rule for a system that is still applying an earlier change.
    pub settling_when: Option<&'r Expression>,
    /// Template of the observed value.
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
    /// Returns the reason why the observation is unknown.
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

/// Returns the failure of a rule: the response is invalid, unless the object alone causes the error.
pub(in crate::engine) fn unevaluated(mistake: &Mistake) -> Failure {
    match mistake {
        Mistake::OfObject(error) => rule_error(error),
        Mistake::OfAnswer(error) => invalid(error),
    }
}

/// Evaluates one rule for a response.
pub(in crate::engine) fn ask(rule: &Expression, variables: &Variables<'_>) -> Result<bool, Failure> {
    rule.evaluate_bool(variables).map_err(|error| unevaluated(&rule.attribute(error, variables.object)))
}

/// Returns the failure of a response that is no observation, with its cause.
pub(in crate::engine) fn invalid(mistake: &dyn std::fmt::Display) -> Failure {
    Failure::with(ObservedReason::ResponseInvalid, &mistake.to_string())
}
