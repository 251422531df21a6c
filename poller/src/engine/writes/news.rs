//! Decides if a verdict is written over the current one at once.
//!
//! A steady state causes no write. Writes that the controller waits for are immediate. Writes that only inform people
//! use the object's budget, so that a flapping object cannot flood the API server.

use drift_api::condition::{Condition, ConditionStatus, CurrentVerdict, Verdict};

/// Returns true if `verdict` differs from the current condition, regardless of its writer.
#[must_use]
pub fn is_change(current: Option<&Condition>, verdict: &Verdict) -> bool {
    current.is_none_or(|current| !verdict.is_said_by(current))
}

/// Returns true if the controller or a person waits for a change. `definite` is the last verdict that was not Unknown.
/// `disturbed` is true if another writer changed or removed our condition, which must not cause a loop.
#[must_use]
pub fn is_news(
    current: Option<&CurrentVerdict>,
    definite: Option<&CurrentVerdict>,
    verdict: &Verdict,
    disturbed: bool,
) -> bool {
    if disturbed {
        return false;
    }
    let Some(current) = current else { return true };
    if current.generation != verdict.generation || current.tag.desired_hash != verdict.tag.desired_hash {
        return true;
    }
    match (current.reason.status(), verdict.status()) {
        (_, ConditionStatus::Unknown) => false,
        (ConditionStatus::Unknown, _) => {
            !definite.is_some_and(|definite| repeats(definite, verdict) && definite.generation == verdict.generation)
        }
        _ => !repeats(current, verdict),
    }
}

fn repeats(before: &CurrentVerdict, verdict: &Verdict) -> bool {
    before.reason == verdict.reason && before.tag.says_as_much_as(&verdict.tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ObservedReason::*;
    use drift_api::condition::{DesiredHash, ObservedReason, Tag};
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
            let is_news = |verdict: &Verdict| is_news(Some(&current(&stands)), None, verdict, false);
            let named = |replace| with(DifferingFields::named(["a"]), replace);
            assert!(!is_news(&named(stands.tag.replace)) && is_news(&named(!stands.tag.replace)));
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
            (None, FieldsDiffer, true),
            (Some(InSync), FieldsDiffer, true),
            (Some(FieldsDiffer), InSync, true),
            (Some(FieldsDiffer), ExternalMissing, true),
            (Some(FieldsDiffer), FieldsDiffer, false),
            (Some(FieldsDiffer), PollTimedOut, false),
            (Some(InSync), PollTimedOut, false),
            (Some(InSync), RuleError, false),
            (Some(PollTimedOut), ExternalError, false),
            (Some(PollTimedOut), InSync, true),
        ];
        for (before, after, expected) in cases {
            let before = before.map(|reason| current(&verdict(reason, 1)));
            assert_eq!(is_news(before.as_ref(), None, &verdict(after, 1), false), expected, "{before:?} to {after}");
        }
    }

    #[test]
    fn what_comes_back_changed_from_unknown_is_news() {
        let unknown = current(&verdict(PollTimedOut, 1));
        let definite = current(&verdict(InSync, 1));
        let is_news = |after| is_news(Some(&unknown), Some(&definite), &after, false);
        assert!(!is_news(verdict(InSync, 1)));
        assert!(is_news(verdict(FieldsDiffer, 1)) && is_news(verdict(InSync, 2)));
    }

    #[test]
    fn a_verified_correction_is_news_even_when_nothing_else_changed() {
        let before = current(&verdict(FieldsDiffer, 1));
        assert!(is_news(Some(&before), None, &verdict(FieldsDiffer, 2), false));
    }

    #[test]
    fn a_condition_that_somebody_removed_is_put_back_quietly() {
        assert!(!is_news(None, None, &verdict(InSync, 1), true));
    }
}
