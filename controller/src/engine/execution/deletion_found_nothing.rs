//! A deletion that finds nothing where a poll saw the resource last: what was made may be elsewhere, under another name or behind another
//! address, and nobody takes it away any more.
//!
//! It is told and changes nothing: the deletion is done.

use drift_api::condition::{CurrentVerdict, ObservedReason};

use super::Execution;
use super::end::ExecutionEnd;
use crate::engine::corrections::claim::Action;
use crate::engine::corrections::outcome::{Outcome, StepOutcome};

/// The statements of one correction's answers about the resource.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswersSeen {
    /// One said that nothing is there.
    nothing: bool,
    /// One said anything else that was accepted.
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
    /// Returns true if this end is that of a deletion that found nothing, though the last poll saw the resource and no request may have taken it
    /// away since. Answers tell it that name a resource (404, 410, NotFound); what a statement or a Job finds is not known.
    #[must_use]
    pub fn misses_what_was_seen(&self, end: &ExecutionEnd) -> bool {
        let ExecutionEnd::Corrected { correction, outcome: Outcome::Applied, .. } = end else { return false };
        let AnswersSeen { nothing, something } = self.progress.answers_seen;
        let seen = self.object.conditions.observed().and_then(CurrentVerdict::read).map(|current| current.reason);
        // What settles was answered for, too.
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
