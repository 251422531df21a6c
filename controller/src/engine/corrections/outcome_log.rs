//! The log line of a correction's outcome: its text and its level.

use std::borrow::Cow;

use crate::engine::corrections::doubt::Doubt;
use crate::engine::corrections::outcome::{Outcome, Refusal, Unstored};

impl Outcome {
    /// Returns the text for the log. Of an answer it holds the code and the reason of a refusal.
    #[must_use]
    pub fn log_text(&self) -> Cow<'static, str> {
        let text = match self {
            Self::Applied => "corrected",
            Self::Underway { .. } => "the deletion is accepted, but not done yet",
            Self::FoundNothing => "the deletion finds nothing where the last poll found the resource: a poll decides",
            Self::AllSkipped => "not corrected: every write was skipped",
            Self::Refused(_, refusal) | Self::AlreadyExists(_, refusal) => {
                return format!("the correction was refused: {}{}", refusal.code, reason(refusal)).into();
            }
            Self::Unstored(_, Unstored::Refused) => {
                "the correction was accepted, but the API server refuses the values to store"
            }
            Self::Unstored(..) => "the correction was accepted, but a value to store is missing in the answer",
            Self::Halted(_, why) if self.changed_nothing() => {
                return format!("not corrected: {why}").into();
            }
            Self::Halted(_, why) => return format!("the correction ended halfway: {why}").into(),
            Self::Doubtful(..) if self.sent_nothing() => "not corrected: nothing could be sent",
            // After look-ups alone, or without a connection for the first write.
            Self::Doubtful(_, why) if self.changed_nothing() || self.was_unconnected() => {
                return format!("not corrected: {why}").into();
            }
            Self::Doubtful(_, why) if self.was_turned_away() => {
                return format!("the correction was refused: {why}").into();
            }
            Self::Doubtful(_, why) => {
                return format!("the result of the correction is unknown: {why}").into();
            }
        };
        text.into()
    }

    fn was_unconnected(&self) -> bool {
        matches!(self, Self::Doubtful(_, why) if why.why == Doubt::NotConnected) && self.was_rejected()
    }

    /// Returns true if the log should warn. If nothing could be sent, the cause was logged before.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        let has_succeeded = matches!(self, Self::Applied | Self::Underway { .. } | Self::AllSkipped);
        !has_succeeded && !self.sent_nothing()
    }
}

fn reason(refusal: &Refusal) -> String {
    refusal.because.as_ref().map(|because| format!(": {because}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::corrections::outcome::{FailedStep, Reach, Uncertainty};
    use drift_systems::RefusalReason;

    #[test]
    fn the_log_names_the_cause_of_a_failed_correction() {
        let step = |reach| FailedStep { label: None, reach };
        let doubtful = |why, reach| {
            let because = Some(RefusalReason::own("quota exceeded"));
            Outcome::Doubtful(step(reach), Uncertainty { because, ..Uncertainty::answered(why, 403.into()) })
        };
        let refusal = Refusal { code: 422.into(), because: Some(RefusalReason::own("quota exceeded")) };
        let table = [
            (Outcome::Applied, false, "corrected"),
            (
                Outcome::Refused(step(Reach::FirstWrite), refusal),
                true,
                "the correction was refused: status 422: quota exceeded",
            ),
            (
                doubtful(Doubt::CredentialRefused, Reach::FirstWrite),
                true,
                "the correction was refused: the external system refuses the controller's credential (403): quota exceeded",
            ),
            (
                doubtful(Doubt::CredentialRefused, Reach::Further),
                true,
                "the result of the correction is unknown: the external system refuses the controller's credential (403): quota exceeded",
            ),
            (
                doubtful(Doubt::TimedOut, Reach::Unwritten),
                true,
                "not corrected: the external system did not answer in time (403): quota exceeded",
            ),
            (
                doubtful(Doubt::NotConnected, Reach::FirstWrite),
                true,
                "not corrected: no connection to the external system (403): quota exceeded",
            ),
            (
                Outcome::Halted(step(Reach::Unwritten), Uncertainty::unanswered(Doubt::RepeatsAnswer)),
                true,
                "not corrected: not sent: the body repeats what an answer shows in place of a secret",
            ),
            (doubtful(Doubt::SecretUnavailable, Reach::Unsent), false, "not corrected: nothing could be sent"),
        ];
        for (outcome, is_warning, text) in table {
            assert_eq!((outcome.is_warning(), &*outcome.log_text()), (is_warning, text), "{outcome:?}");
        }
    }
}
