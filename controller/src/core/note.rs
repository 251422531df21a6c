//! The controller's note on an object: what stands in `driftCorrected`, and what comes to stand there.
//!
//! The texts are closed: no value of an object, no part of an answer but its status. Whatever is not said anew is
//! kept, K and the claim above all. This file must not know how a note is written.

use drift_model::condition::{Condition, CorrectedReason, Note};
use drift_model::names::DRIFT_CORRECTED;
use drift_model::object::LeanObject;

use super::claim::{Action, is_taken_back};
use super::decision::Correction;
use super::outcome::Outcome;

/// What stands, seeded by the larger of the two conditions and by what this process wrote or found itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// The reason that stands; `None` where no note of ours does.
    pub reason: Option<CorrectedReason>,
    /// K.
    pub correction: u64,
    /// The identity that is ours.
    pub owns: Option<String>,
    /// The generation that the note speaks of.
    pub generation: Option<i64>,
    /// Whether another writer took from the object what we had noted.
    pub lost: bool,
}

impl Noted {
    /// Reads an object; `remembered` is the note that this process wrote last, or found at first.
    #[must_use]
    pub fn read(object: &LeanObject, remembered: Option<&NoteChange>) -> Self {
        let correction = object.conditions.correction();
        let read = NoteChange::standing(object).map_or_else(
            || Self { correction, ..Self::default() },
            |NoteChange { reason, note, generation }| Self {
                reason: Some(reason),
                correction,
                owns: note.owns,
                generation,
                lost: false,
            },
        );
        match remembered {
            Some(remembered) if remembered.is_lost_in(&read) => Self {
                reason: None,
                correction: correction.max(remembered.note.correction),
                owns: remembered.note.owns.clone(),
                generation: remembered.generation,
                lost: true,
            },
            _ => read,
        }
    }
}

/// A note on its way to the object, or on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteChange {
    /// Its reason; it fixes the status.
    pub reason: CorrectedReason,
    /// K, the claim and the sentence.
    pub note: Note,
    /// The generation acted on.
    pub generation: Option<i64>,
}

impl NoteChange {
    /// The note that stands on an object; `None` where what stands there is none of ours.
    #[must_use]
    pub fn standing(object: &LeanObject) -> Option<Self> {
        let condition = object.conditions.corrected()?;
        let reason = CorrectedReason::parse(&condition.reason)?;
        Some(Self { reason, note: Note::parse(&condition.message), generation: condition.observed_generation })
    }

    /// A note that changes neither K nor the claim.
    #[must_use]
    pub fn keeping(noted: &Noted, reason: CorrectedReason, text: &str, generation: Option<i64>) -> Self {
        let note = Note { correction: noted.correction, owns: noted.owns.clone(), text: text.to_owned() };
        Self { reason, note, generation }
    }

    /// The claim, laid before the first create or the first adopting update.
    #[must_use]
    pub fn claim(noted: &Noted, correction: &Correction) -> Self {
        let text = match correction.action {
            Action::Create => "creating the external resource",
            Action::Update | Action::Delete => "adopting the external resource",
        };
        let mut change = Self::keeping(noted, CorrectedReason::CorrectionStarted, text, correction.generation);
        change.note.owns = Some(correction.identity.clone());
        change
    }

    /// A claim that an earlier process left behind: nobody knows what came of it, so it counts as a correction.
    #[must_use]
    pub fn interrupted(noted: &Noted, generation: Option<i64>) -> Self {
        let text = "interrupted: nobody knows whether the correction was done";
        let mut change = Self::keeping(noted, CorrectedReason::CorrectionFailed, text, generation);
        change.note.correction = noted.correction.saturating_add(1);
        change
    }

    /// What a correction came to. `noted` is what stood before it, the claim of this very correction aside.
    #[must_use]
    pub fn finished(noted: &Noted, correction: &Correction, outcome: &Outcome) -> Self {
        let reason = match outcome {
            Outcome::Applied => CorrectedReason::CorrectionApplied,
            Outcome::Underway { .. } => CorrectedReason::CorrectionStarted,
            Outcome::Refused { .. } | Outcome::Doubtful { .. } => CorrectedReason::CorrectionFailed,
        };
        let mut change =
            Self::keeping(noted, reason, &finished_text(correction.action, outcome), correction.generation);
        if outcome.is_definite() {
            change.note.correction = correction.number;
        }
        if correction.claim_first && !is_taken_back(true, outcome) {
            change.note.owns = Some(correction.identity.clone());
        }
        change
    }

    /// What is to be written after a correction, onto what stands by now; `None` where that says it all.
    ///
    /// A doubt that lasts is written once. A definite outcome whose number somebody has noted meanwhile is counted
    /// already (the leader that followed us interrupted it, or did it again with the same key).
    #[must_use]
    pub fn to_record(
        noted: &Noted,
        standing: &Noted,
        correction: &Correction,
        outcome: &Outcome,
        was_in_doubt: bool,
    ) -> Option<Self> {
        let change = Self::finished(noted, correction, outcome);
        let counted = outcome.is_definite() && standing.correction >= correction.number;
        let known = !outcome.is_definite() && was_in_doubt && change.repeats(standing);
        (!counted && !known).then_some(change)
    }

    /// Whether what stands says so little of this note that another writer must have taken it away. A note that counts more
    /// corrections is newer, and may have given up a claim.
    fn is_lost_in(&self, read: &Noted) -> bool {
        if read.reason.is_some() && read.correction > self.note.correction {
            return false;
        }
        let gone = read.reason.is_none() && (self.note.correction > 0 || self.note.owns.is_some());
        gone || (read.correction < self.note.correction) || (self.note.owns.is_some() && read.owns.is_none())
    }

    /// The condition to write over `standing`; `now` (RFC 3339) becomes the transition time only where the status changes.
    #[must_use]
    pub fn to_condition(&self, standing: Option<&Condition>, now: &str) -> Condition {
        let unchanged = standing.filter(|standing| standing.status == self.reason.status());
        Condition {
            kind: DRIFT_CORRECTED.to_owned(),
            status: self.reason.status(),
            reason: self.reason.as_str().to_owned(),
            message: self.note.to_string(),
            observed_generation: self.generation,
            last_transition_time: unchanged
                .map(|standing| standing.last_transition_time.clone())
                .filter(|time| !time.is_empty())
                .unwrap_or_else(|| now.to_owned()),
        }
    }

    /// Whether exactly this stands already.
    #[must_use]
    pub fn stands(&self, standing: Option<&Condition>) -> bool {
        standing.is_some_and(|standing| self.to_condition(Some(standing), "").says_the_same(standing))
    }

    /// Whether it says no more than `noted` does, its text aside: a doubt that lasts is written once.
    #[must_use]
    pub fn repeats(&self, noted: &Noted) -> bool {
        noted.reason == Some(self.reason)
            && noted.correction == self.note.correction
            && noted.owns == self.note.owns
            && noted.generation == self.generation
    }
}

fn finished_text(action: Action, outcome: &Outcome) -> String {
    let verb = action.as_str();
    match outcome {
        Outcome::Applied => format!("{verb}d"),
        Outcome::Underway { .. } => format!("{verb}: accepted, and not done yet; it is asked for again"),
        Outcome::Refused { status, .. } => format!("the external system refused to {verb} with status {status}"),
        Outcome::Doubtful { why, .. } => format!("{verb}: {}; it is tried again", why.as_text()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::core::outcome::Doubt;

    fn noted(correction: u64, owns: Option<&str>) -> Noted {
        Noted { correction, owns: owns.map(str::to_owned), ..Noted::default() }
    }

    fn correction(action: Action, claim_first: bool) -> Correction {
        Correction {
            action,
            number: 8,
            identity: "db".to_owned(),
            claim_first,
            put_finalizer: false,
            generation: Some(3),
        }
    }

    fn message(noted: &Noted, correction: &Correction, outcome: &Outcome) -> String {
        NoteChange::finished(noted, correction, outcome).note.to_string()
    }

    #[test]
    fn a_definite_outcome_spends_one_k_and_a_doubtful_one_none() {
        let (before, update) = (noted(7, Some("db")), correction(Action::Update, false));
        assert_eq!(message(&before, &update, &Outcome::Applied), r#"correction 8, owns "db": updated"#);
        let refused = Outcome::Refused { status: 409, step: 0 };
        assert_eq!(
            message(&before, &update, &refused),
            r#"correction 8, owns "db": the external system refused to update with status 409"#
        );
        let underway =
            NoteChange::finished(&before, &correction(Action::Delete, false), &Outcome::Underway { retry_after: None });
        assert_eq!(underway.reason, CorrectedReason::CorrectionStarted);
        assert_eq!(
            underway.note.to_string(),
            r#"correction 8, owns "db": delete: accepted, and not done yet; it is asked for again"#
        );
        let doubtful = Outcome::Doubtful { why: Doubt::NoAnswer, retry_after: None, step: 0 };
        assert_eq!(
            message(&before, &update, &doubtful),
            r#"correction 7, owns "db": update: no answer from the external system; it is tried again"#
        );
    }

    #[test]
    fn a_create_that_is_refused_at_its_very_first_try_takes_the_claim_back() {
        let (before, create) = (noted(7, None), correction(Action::Create, true));
        assert_eq!(NoteChange::claim(&before, &create).note.owns.as_deref(), Some("db"));
        let owns = |outcome| NoteChange::finished(&before, &create, &outcome).note.owns;
        assert_eq!(owns(Outcome::Refused { status: 409, step: 0 }), None);
        assert_eq!(owns(Outcome::Refused { status: 409, step: 1 }), Some("db".to_owned()));
        assert_eq!(owns(Outcome::Doubtful { why: Doubt::NoAnswer, retry_after: None, step: 0 }), Some("db".to_owned()));
        let again = correction(Action::Create, false);
        let kept = NoteChange::finished(&noted(7, Some("db")), &again, &Outcome::Refused { status: 409, step: 0 });
        assert_eq!(kept.note.owns.as_deref(), Some("db"), "an earlier claim stays");
    }

    #[test]
    fn a_claim_found_standing_becomes_a_failed_correction_with_the_next_k() {
        let change = NoteChange::interrupted(&noted(7, Some("db")), Some(3));
        assert_eq!(change.reason, CorrectedReason::CorrectionFailed);
        assert_eq!((change.note.correction, change.note.owns.as_deref()), (8, Some("db")));
    }

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let change = NoteChange::keeping(&noted(1, None), CorrectedReason::CorrectionFailed, "x", Some(1));
        let first = change.to_condition(None, "2026-01-01T00:00:00Z");
        let refused = NoteChange { reason: CorrectedReason::AttemptsExhausted, ..change.clone() };
        let same_status = refused.to_condition(Some(&first), "2026-01-02T00:00:00Z");
        assert_eq!(same_status.last_transition_time, "2026-01-01T00:00:00Z");
        let applied = NoteChange { reason: CorrectedReason::CorrectionApplied, ..change.clone() };
        assert_eq!(
            applied.to_condition(Some(&first), "2026-01-02T00:00:00Z").last_transition_time,
            "2026-01-02T00:00:00Z"
        );
        assert!(change.stands(Some(&first)) && !applied.stands(Some(&first)) && !change.stands(None));
    }
}
