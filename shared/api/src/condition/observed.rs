//! New verdicts for `driftObserved`, and the current one as read.
//!
//! The meaning of the tag is defined here: the facts about the object's past that a current verdict proves.

use std::borrow::Cow;

use crate::condition::{
    Condition, ConditionKind, ConditionStatus, CorrectedReason, CorrectionStatus, DesiredHash, ObservedReason, Tag,
};
use crate::facts;

/// The current verdict of an object, if it is ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentVerdict {
    /// Its reason. A foreign word means that there is no current verdict.
    pub reason: ObservedReason,
    /// Its tag. The default if another writer broke it.
    pub tag: Tag,
    /// The generation that it refers to. `None` for a kind without generations.
    pub generation: Option<i64>,
}

impl CurrentVerdict {
    /// Reads the poller's condition. `None` if the reason is not ours, so that it proves nothing.
    #[must_use]
    pub fn read(condition: &Condition) -> Option<Self> {
        let reason = ObservedReason::parse(&condition.reason).filter(|reason| reason.status() == condition.status)?;
        let tag = condition.message.tag().unwrap_or_default();
        Some(Self { reason, tag, generation: condition.observed_generation })
    }

    /// Returns true if the condition is a verdict with a word that this version does not know: a part of the tag, or a
    /// reason before a tag.
    #[must_use]
    pub fn is_of_newer_version(condition: &Condition) -> bool {
        let has_tag = || condition.message.tag().is_some_and(|tag| tag.desired_hash.is_some());
        let has_unknown_reason = ObservedReason::parse(&condition.reason).is_none() && has_tag();
        has_unknown_reason || Tag::is_of_newer_version(condition.message.text())
    }

    /// Returns true if it refers to the same spec: the same generation, or for a kind without generations the
    /// same desired state.
    #[must_use]
    pub fn is_of(&self, generation: Option<i64>, desired_hash: Option<DesiredHash>) -> bool {
        match generation {
            Some(_) => self.generation == generation,
            None => desired_hash.is_none() || self.tag.desired_hash == desired_hash,
        }
    }

    /// Returns true if it proves that the object was in sync at its generation.
    #[must_use]
    pub fn proves_seen(&self) -> bool {
        match self.reason {
            ObservedReason::InSync | ObservedReason::ExternalMissing | ObservedReason::FieldsDiffer => true,
            ObservedReason::NotCreated | ObservedReason::NotUpdated => false,
            _ => self.tag.seen,
        }
    }

    /// Returns true if it proves that a poll found the resource, at any generation.
    #[must_use]
    pub fn proves_found(&self) -> bool {
        self.tag.found || self.tag.seen || self.reason.implies_found()
    }

    /// Returns true if a poll found the resource since this correction, whose record has a create.
    #[must_use]
    pub const fn has_found_since(&self, correction: u64) -> bool {
        self.tag.correction >= correction && !self.tag.unfound
    }

    /// Returns true if another replacement would be useless: the record of the last correction contains a replacement
    /// for this spec, and a later poll still finds a field that only a replacement changes. A deletion in progress and
    /// a failed create do not count, because they created nothing that could match.
    #[must_use]
    pub fn replaces_in_vain(&self, record: &CorrectionStatus) -> bool {
        let is_done =
            matches!(record.reason, Some(CorrectedReason::CorrectionApplied | CorrectedReason::AttemptsExhausted));
        let asks_again = self.reason.status() == ConditionStatus::True && self.tag.replace;
        // Drift that is counted from zero after the replacement followed a poll in sync. If no poll found this
        // generation in sync, another writer removed the count. A kind without generations cannot distinguish that
        // from an edit.
        let was_in_sync = self.tag.unhealed == 0 && (self.generation.is_none() || self.proves_seen());
        let is_of_spec = self.generation == record.generation && self.tag.correction == record.correction;
        record.replaced && is_done && asks_again && is_of_spec && !was_in_sync
    }
}

/// A new verdict: the condition without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The reason, which determines the status.
    pub reason: ObservedReason,
    /// The sentence for display, without the tag.
    pub text: Cow<'static, str>,
    /// The machine-readable tag.
    pub tag: Tag,
    /// The generation that was compared. `None` for a kind without generations.
    pub generation: Option<i64>,
}

impl Verdict {
    /// Returns the verdict that a condition already says; `None` if the reason is not ours.
    #[must_use]
    pub fn said_by(condition: &Condition) -> Option<Self> {
        let CurrentVerdict { reason, tag, generation } = CurrentVerdict::read(condition)?;
        Some(Self { reason, text: condition.message.sentence().to_owned().into(), tag, generation })
    }

    /// Returns the status of the reason.
    #[must_use]
    pub const fn status(&self) -> ConditionStatus {
        self.reason.status()
    }

    /// Returns true if a condition says exactly this, regardless of its writer and time.
    #[must_use]
    pub fn is_said_by(&self, condition: &Condition) -> bool {
        self.status() == condition.status
            && self.reason.as_str() == condition.reason
            && self.generation == condition.observed_generation
            && condition.message.says(&self.text, &self.tag)
    }

    /// Returns the condition to write over `current`. `now` (RFC 3339) becomes the transition time only if the status
    /// changes, and never goes back: the controller treats an older transition as a replay.
    #[must_use]
    pub fn to_condition(&self, current: Option<&Condition>, now: &str) -> Condition {
        Condition {
            kind: ConditionKind::Observed,
            status: self.status(),
            reason: self.reason.as_str().into(),
            message: facts::fit(&self.text, &self.tag).into(),
            observed_generation: self.generation,
            last_transition_time: Condition::transition_time(current, self.status(), now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_newer_version_are_told_from_texts_of_others() {
        let observed = |reason: &str, message: &str| Condition {
            kind: ConditionKind::Observed,
            status: ConditionStatus::False,
            reason: reason.into(),
            message: message.into(),
            observed_generation: Some(1),
            last_transition_time: "2026-01-01T00:00:00Z".into(),
        };
        for (reason, message, expected) in [
            ("InSync", "text [desired 3f2a9c71d04b58e6]", false),
            ("InSync", "text [desired 3f2a9c71d04b58e6, later]", true),
            ("InSync", "text [desired 3f2a9c71d04b58e6, generation 3]", true),
            ("Later", "text [desired 3f2a9c71d04b58e6]", true),
            ("Later", "text", false),
            ("InSync", "text [later]", false),
            ("RuleError", "text [seen, correction 7, later]", true),
            ("InSync", "text [correction 07, later]", false),
            ("InSync", "text [unhealed 1, correction 2]", false),
            ("InSync", "text [desired 3f2a9c71d04b58e6] more", false),
        ] {
            assert_eq!(CurrentVerdict::is_of_newer_version(&observed(reason, message)), expected, "{reason} {message}");
        }
        let corrected =
            |reason: &str, message: &str| Condition { kind: ConditionKind::Corrected, ..observed(reason, message) };
        for (reason, message, expected) in [
            ("CorrectionApplied", "correction 7, owns \"web\": updated [scope 3f2a9c71, replaced]", false),
            ("CorrectionApplied", "correction 7, owns \"web\": updated [scope 3f2a9c71, later 9]", true),
            ("CorrectionApplied", "owns \"web\": text [scope 3f2a9c71, later]", true),
            ("CorrectionApplied", "correction 7: text [scope 3f2a9c71, later]", false),
            ("CorrectionApplied", "correction 7, owns \"web\": text [later]", false),
            ("CorrectionApplied", "correction 7, owns \"web [scope 3f2a9c71, later]\": text [scope 3f2a9c71]", false),
            ("Later", "correction 7: text", true),
            ("Later", "claims \"web\": text", true),
            ("Later", "text", false),
        ] {
            let condition = corrected(reason, message);
            assert_eq!(CorrectionStatus::is_of_newer_version(&condition), expected, "{reason} {message}");
        }
    }

    #[test]
    fn a_clock_set_back_moves_no_transition_back() {
        let verdict = |reason| Verdict { reason, text: Cow::Borrowed(""), tag: Tag::default(), generation: Some(1) };
        let current = verdict(ObservedReason::InSync).to_condition(None, "2026-01-01T00:00:10Z");
        for (now, expected) in
            [("2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z"), ("2026-01-01T00:00:11Z", "2026-01-01T00:00:11Z")]
        {
            let next = verdict(ObservedReason::FieldsDiffer).to_condition(Some(&current), now);
            assert_eq!(next.last_transition_time.to_string(), expected);
        }
        let foreign = Condition { last_transition_time: "yesterday".into(), ..current };
        let next = verdict(ObservedReason::FieldsDiffer).to_condition(Some(&foreign), "2026-01-01T00:00:09Z");
        assert_eq!(next.last_transition_time.to_string(), "2026-01-01T00:00:09Z", "no time is no bound");
    }
}
