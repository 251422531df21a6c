//! A deletion that found nothing although the last poll saw the resource. The resource may exist under another name or
//! address, where no one deletes it.
//!
//! The finding is only reported. The deletion counts as done.

use drift_api::condition::{CurrentVerdict, ObservedReason};

use super::Execution;
use super::end::ExecutionEnd;
use crate::engine::corrections::{Action, Outcome, StepOutcome};

/// Findings in the responses of one correction about the resource.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswersSeen {
    /// True if a response reported that the resource is absent.
    nothing: bool,
    /// True if another response was accepted.
    something: bool,
}

impl AnswersSeen {
    pub(super) fn note(&mut self, answer: &StepOutcome) {
        match answer {
            StepOutcome::NotThere => self.nothing = true,
            answer => self.something |= answer.is_accepted(),
        }
    }
}

impl Execution {
    /// Returns true if this end is a deletion that found nothing although the last poll saw the resource and no request
    /// may have removed it since. Only responses that name a resource show this (404, 410, NotFound). The findings of a
    /// statement or a Job are unknown.
    #[must_use]
    pub fn misses_what_was_seen(&self, end: &ExecutionEnd) -> bool {
        let ExecutionEnd::Corrected { correction, outcome: Outcome::Applied, .. } = end else { return false };
        let AnswersSeen { nothing, something } = self.progress.answers_seen;
        let seen = self.object.conditions.observed().and_then(CurrentVerdict::read).map(|current| current.reason);
        // A settling resource existed too.
        let was_seen = matches!(
            seen,
            Some(
                ObservedReason::InSync
                    | ObservedReason::FieldsDiffer
                    | ObservedReason::NotUpdated
                    | ObservedReason::Settling
            )
        );
        correction.action == Action::Delete && !correction.may_be_gone && nothing && !something && was_seen
    }
}
