//! The record of a create whose repetition could make a second resource.
//!
//! It is written before the first request and stays until a poll finds the resource. A create that may have taken effect
//! uses up its number, so that a poll comes before any other try.

use drift_api::approval::ObjectInputs;
use drift_api::condition::UnseenCreate;
use drift_language::RepeatedCreate;

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::outcome::{Outcome, Reach};

/// Maximum repetitions of a create with one idempotency key before a poll decides. A system that honours the key answers
/// the second request, so more of them show that it does not.
pub const MAX_KEYED_REPEATS: u32 = 5;

impl Correction {
    /// Returns the correction with the record that it writes before its first request. `found` is true if the read finds
    /// a resource whose answer was lost, so that a poll has shown that earlier tries made nothing.
    #[must_use]
    pub fn noting_create(self, repeated: RepeatedCreate, inputs: ObjectInputs, found: bool) -> Self {
        let is_create = matches!(self.action, Action::Create | Action::Replace);
        if !is_create || repeated == RepeatedCreate::Harmless {
            return self;
        }
        let desired_hash = self.desired_hash.map(|hash| hash.to_string()).unwrap_or_default();
        let (action, correct_hash) = (self.action.as_str(), self.correct_hash.to_string());
        let request = UnseenCreate::request_of(&[action, &desired_hash, &correct_hash, &inputs.to_string()]);
        let fresh = UnseenCreate { number: self.asked_as(), request, sent: 1, accepted: false };
        let creating = match self.before.unseen {
            Some(before) if before.request == request => {
                // The name of a Job contains its number, and a finished Job is not run again.
                let number = if self.by_job { fresh.number } else { before.number };
                UnseenCreate { number, sent: before.sent.saturating_add(1), ..before }
            }
            Some(before) if !found => {
                UnseenCreate { sent: before.sent.saturating_add(1), accepted: before.accepted, ..fresh }
            }
            Some(_) | None => fresh,
        };
        let looks_first = repeated == RepeatedCreate::Duplicates || creating.sent > MAX_KEYED_REPEATS;
        Self { creating: Some(creating), looks_first: looks_first && !self.by_job, ..self }
    }

    /// Returns true if the outcome uses up the number: a poll comes before any other correction.
    #[must_use]
    pub fn counts(&self, outcome: &Outcome) -> bool {
        outcome.is_definite() || self.looks_first && outcome.may_have_written() && !outcome.was_rejected()
    }

    /// Returns the record of the create after this outcome.
    pub(super) fn unseen_after(&self, outcome: &Outcome) -> Option<UnseenCreate> {
        let Some(creating) = self.creating else { return self.before.unseen };
        let accepted = |accepted| Some(UnseenCreate { accepted: creating.accepted || accepted, ..creating });
        match outcome {
            Outcome::Applied | Outcome::Underway { .. } => accepted(true),
            // A Job that failed or is not seen is found by its name.
            _ if self.by_job => self.before.unseen,
            // The refusal of a repeated request may be due to the first one.
            Outcome::Refused(..) | Outcome::AlreadyExists(..) if outcome.changed_nothing() => {
                self.before.unseen.map(|before| UnseenCreate { accepted: true, ..before })
            }
            Outcome::Refused(step, _) if step.reach == Reach::Deleted => self.before.unseen,
            _ if outcome.changed_nothing() || outcome.was_rejected() => self.before.unseen,
            Outcome::Doubtful(step, _) | Outcome::Refused(step, _) | Outcome::Halted(step, _) => {
                accepted(step.reach == Reach::Further)
            }
            Outcome::AllSkipped | Outcome::FoundNothing | Outcome::AlreadyExists(..) | Outcome::Unstored(..) => {
                accepted(true)
            }
        }
    }
}
