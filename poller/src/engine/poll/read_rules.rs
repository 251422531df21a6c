//! The rules of a read over what was found for one object, in the order in which they are asked.
//!
//! Every kind of read has them, so that absence, a foreign answer and work that is still going on mean the same for all. This file must
//! not know how anything was found.

use drift_api::condition::ObservedReason;
use drift_language::AnswerRules;
use drift_language::cel::{Expression, ValueTemplate, Variables};

use crate::engine::judgement::finding::Failure;
use crate::engine::poll::http_reply::{Observation, ask, invalid, unevaluated};

/// The rules of one read; what a target does not write is `None`.
#[derive(Clone, Copy, Debug)]
pub struct ReadRules<'r> {
    /// Whether the resource is not there.
    pub absent_when: Option<&'r Expression>,
    /// Whether this is an answer of the system that is meant.
    pub valid_when: Option<&'r Expression>,
    /// Whether the system is still at work on an earlier change.
    pub settling_when: Option<&'r Expression>,
    /// What is observed.
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
    /// What they say.
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
