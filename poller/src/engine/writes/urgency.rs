//! The urgency of writing a verdict over the current one.
//!
//! A steady state causes no write. Writes that the controller waits for are immediate. Writes that only inform people
//! use a token bucket, so that a flapping object cannot flood the API server.

use drift_api::{Condition, ConditionStatus, CurrentVerdict, Moment, ObservedReason, TokenBucket, Verdict};
use std::time::Duration;

/// Burst of writes without news for one object: a few normal changes.
pub const QUIET_BURST: u32 = 6;
/// Refill interval after the burst. Only the latest verdict is written, because people do not read faster.
pub const QUIET_REFILL: Duration = Duration::from_secs(60);

/// Urgency of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// The controller or a person waits for it.
    News,
    /// No program acts on it, so it uses the object's bucket.
    Quiet,
}

/// Last verdict that was not Unknown. Returning to it is no news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definite {
    reason: ObservedReason,
    tag: drift_api::condition::Tag,
    generation: Option<i64>,
}

impl Definite {
    /// Returns the definite verdict; `None` for Unknown.
    #[must_use]
    pub fn of(current: &CurrentVerdict) -> Option<Self> {
        let definite = current.reason.status() != ConditionStatus::Unknown;
        definite.then_some(Self { reason: current.reason, tag: current.tag.clone(), generation: current.generation })
    }

    /// Returns the reason of the verdict.
    #[must_use]
    pub const fn reason(&self) -> ObservedReason {
        self.reason
    }

    fn is_repeated_by(&self, verdict: &Verdict) -> bool {
        self.reason == verdict.reason && self.tag.says_as_much_as(&verdict.tag) && self.generation == verdict.generation
    }
}

/// Location of the last verdict on an object that was not Unknown. It is almost always the current one, and there are
/// very many objects.
#[derive(Debug, Default)]
pub enum LastDefinite {
    /// The current verdict, unless that is Unknown and no definite one existed.
    #[default]
    CurrentVerdict,
    /// Another verdict replaced it since. Boxed even without one, so that it takes one word.
    Former(Box<Option<Definite>>),
}

impl LastDefinite {
    /// Returns the verdict, given the current one.
    #[must_use]
    pub fn find(&self, current: Option<&CurrentVerdict>) -> Option<Definite> {
        match self {
            Self::CurrentVerdict => current.and_then(Definite::of),
            Self::Former(former) => (**former).clone(),
        }
    }
}

/// Returns true if `verdict` differs from the current condition, regardless of its writer.
#[must_use]
pub fn is_change(current: Option<&Condition>, verdict: &Verdict) -> bool {
    current.is_none_or(|current| !verdict.is_said_by(current))
}

/// Returns the urgency of a change. `disturbed` is true if another writer changed or removed our condition, which must
/// not cause a loop.
#[must_use]
pub fn weigh(
    current: Option<&CurrentVerdict>,
    definite: Option<&Definite>,
    verdict: &Verdict,
    disturbed: bool,
) -> Urgency {
    if disturbed {
        return Urgency::Quiet;
    }
    let Some(current) = current else { return Urgency::News };
    let (before, after) = (current.reason.status(), verdict.status());
    if current.generation != verdict.generation || current.tag.desired_hash != verdict.tag.desired_hash {
        return Urgency::News;
    }
    match (before, after) {
        (_, ConditionStatus::Unknown) => Urgency::Quiet,
        (ConditionStatus::Unknown, _) if definite.is_some_and(|definite| definite.is_repeated_by(verdict)) => {
            Urgency::Quiet
        }
        (ConditionStatus::Unknown, _) => Urgency::News,
        _ if current.reason == verdict.reason && current.tag.says_as_much_as(&verdict.tag) => Urgency::Quiet,
        _ => Urgency::News,
    }
}

/// Returns the full bucket of one object.
#[must_use]
pub const fn quiet_bucket(now: Moment) -> TokenBucket {
    TokenBucket::full(QUIET_BURST, QUIET_REFILL, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ObservedReason::*;
    use drift_api::condition::{DesiredHash, Tag};
    use serde_json::json;

    fn verdict(reason: ObservedReason, correction: u64) -> Verdict {
        let tag = Tag { correction, desired_hash: Some(DesiredHash::of(&json!(1))), ..Tag::default() };
        Verdict { reason, text: "text".into(), tag, generation: Some(1) }
    }

    fn current(verdict: &Verdict) -> CurrentVerdict {
        CurrentVerdict { reason: verdict.reason, tag: verdict.tag.clone(), generation: verdict.generation }
    }

    #[test]
    fn what_is_to_be_replaced_is_news() {
        use drift_api::condition::DifferingFields;
        let before = verdict(FieldsDiffer, 1);
        let with = |fields, replace| Verdict { tag: Tag { fields, replace, ..before.tag.clone() }, ..before.clone() };
        for stands in [before.clone(), with(DifferingFields::default(), true)] {
            let urgency = |verdict: &Verdict| weigh(Some(&current(&stands)), None, verdict, false);
            let named = |replace| with(DifferingFields::named(["a"]), replace);
            assert_eq!(urgency(&named(stands.tag.replace)), Urgency::Quiet);
            assert_eq!(urgency(&named(!stands.tag.replace)), Urgency::News);
        }
    }

    #[test]
    fn the_same_words_are_no_change() {
        let verdict = verdict(FieldsDiffer, 1);
        let mut condition = verdict.to_condition(None, "2026-01-01T00:00:00Z");
        assert!(!is_change(Some(&condition), &verdict));
        assert!(is_change(None, &verdict));
        condition.observed_generation = Some(2);
        assert!(is_change(Some(&condition), &verdict));
    }

    #[test]
    fn only_what_somebody_waits_for_is_news() {
        let cases = [
            (None, FieldsDiffer, Urgency::News),
            (Some(InSync), FieldsDiffer, Urgency::News),
            (Some(FieldsDiffer), InSync, Urgency::News),
            (Some(FieldsDiffer), ExternalMissing, Urgency::News),
            (Some(FieldsDiffer), FieldsDiffer, Urgency::Quiet),
            (Some(FieldsDiffer), PollTimedOut, Urgency::Quiet),
            (Some(InSync), PollTimedOut, Urgency::Quiet),
            (Some(InSync), RuleError, Urgency::Quiet),
            (Some(PollTimedOut), ExternalError, Urgency::Quiet),
            (Some(PollTimedOut), InSync, Urgency::News),
        ];
        for (before, after, expected) in cases {
            let before = before.map(|reason| current(&verdict(reason, 1)));
            assert_eq!(weigh(before.as_ref(), None, &verdict(after, 1), false), expected, "{before:?} to {after}");
        }
    }

    #[test]
    fn what_comes_back_changed_from_unknown_is_news() {
        let unknown = current(&verdict(PollTimedOut, 1));
        let definite = Definite::of(&current(&verdict(InSync, 1)));
        let weigh = |after| weigh(Some(&unknown), definite.as_ref(), &after, false);
        assert_eq!(weigh(verdict(InSync, 1)), Urgency::Quiet);
        assert_eq!(weigh(verdict(FieldsDiffer, 1)), Urgency::News);
        assert_eq!(weigh(verdict(InSync, 2)), Urgency::News);
    }

    #[test]
    fn a_verified_correction_is_news_even_when_nothing_else_changed() {
        let before = current(&verdict(FieldsDiffer, 1));
        assert_eq!(weigh(Some(&before), None, &verdict(FieldsDiffer, 2), false), Urgency::News);
    }

    #[test]
    fn a_condition_that_somebody_removed_is_put_back_quietly() {
        assert_eq!(weigh(None, None, &verdict(InSync, 1), true), Urgency::Quiet);
    }
}
