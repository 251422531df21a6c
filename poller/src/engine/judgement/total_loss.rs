//! Absence of all found resources of a target at once.
//!
//! A rotated token that gets 404, an empty replica and an edited path look like the loss of everything. So an absence is
//! believed only if the same read finds another resource of the target, unless it never found one.

use drift_api::condition::{CurrentVerdict, ObservedReason, TransitionTime};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use crate::engine::judgement::finding::Failure;

/// Text of the reason for people.
const ALL_MISSING: &str =
    "the read finds none of the external resources that it found before, which may be its own mistake";

/// How a verdict of this reason ends.
pub const ENDS: &str = "one that is found ends this, and `kubectl drift retry KIND/NAME` confirms the loss of this one";

/// The other objects of a target whose resource was found before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherObjects {
    /// Their number.
    pub count: usize,
    /// Those whose last poll found the resource.
    pub present: usize,
    /// Those that this process has not polled yet.
    pub unpolled: usize,
    /// Start of the last poll of the target that found a resource.
    pub last_found: Option<Moment>,
}

/// Meaning of the absence of a resource that was found before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The read works, because it found another resource since, or there is no other object to compare with.
    OfOne,
    /// The read finds no resource any more.
    OfAll,
    /// Other resources were found before this absence and not since, so another poll of one of them decides.
    Undecided,
}

impl OtherObjects {
    /// Judges an absence whose first poll began at `since`.
    #[must_use]
    pub fn judge_absence(&self, since: Moment) -> Loss {
        let is_proved = self.last_found.is_some_and(|found| found >= since);
        match self.present + self.unpolled {
            _ if self.count == 0 || is_proved => Loss::OfOne,
            0 => Loss::OfAll,
            _ => Loss::Undecided,
        }
    }
}

/// Returns the failure that stands for the absence, with the answer that meant it.
#[must_use]
pub fn all_missing(answer: Option<&str>) -> Failure {
    let answer = answer.map(|answer| format!(": {answer}")).unwrap_or_default();
    Failure { reason: ObservedReason::AllMissing, text: format!("{ALL_MISSING}{answer}; {ENDS}") }
}

/// Returns true if the loss of an object's resource needs no more proof: drift by absence is on the object for this spec, or
/// a person requested a retry since the poller reported [`ObservedReason::AllMissing`].
#[must_use]
pub fn is_confirmed_loss(object: &LeanObject, current: Option<&CurrentVerdict>, is_of_spec: bool) -> bool {
    let Some(current) = current else { return false };
    if current.reason == ObservedReason::AllMissing {
        let stands_since = object.conditions.observed().map(|condition| &condition.last_transition_time);
        let requested = object.retry_requested().map(TransitionTime::from);
        return requested.zip(stands_since).is_some_and(|(requested, since)| requested.is_later_than(since));
    }
    current.reason.is_absence() && is_of_spec
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::names::RETRY_REQUESTED_ANNOTATION;
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn an_absence_is_believed_if_the_read_finds_another() {
        let at = |seconds| Moment::from_start(Duration::from_secs(seconds));
        let others = |count, present, unpolled, found: Option<u64>| OtherObjects {
            count,
            present,
            unpolled,
            last_found: found.map(at),
        };
        for (others, expected) in [
            (others(0, 0, 0, None), Loss::OfOne),
            (others(0, 0, 0, Some(5)), Loss::OfOne),
            (others(1, 0, 0, None), Loss::OfAll),
            (others(1, 0, 0, Some(5)), Loss::OfAll),
            (others(1, 1, 0, Some(5)), Loss::Undecided),
            (others(1, 0, 1, None), Loss::Undecided),
            (others(2, 1, 0, Some(10)), Loss::OfOne),
            (others(2, 0, 0, Some(11)), Loss::OfOne),
        ] {
            assert_eq!(others.judge_absence(at(10)), expected, "{others:?}");
        }
    }

    #[test]
    fn a_person_or_an_earlier_verdict_confirms_a_loss() {
        use ObservedReason::{AllMissing, ExternalMissing, InSync, NotCreated};
        let confirmed = |reason: ObservedReason, retry: &str, is_of_spec| {
            let observed = json!({"type": "driftObserved", "status": reason.status().as_str(), "reason": reason.as_str(),
                "message": "x", "lastTransitionTime": "2026-01-01T00:00:10Z"});
            let metadata = json!({"uid": "u", "name": "n", "annotations": {RETRY_REQUESTED_ANNOTATION: retry}});
            let object = json!({"metadata": metadata, "status": {"conditions": [observed]}});
            let object = LeanObject::prune(&object, &FieldPaths::default());
            let current = object.conditions.observed().and_then(CurrentVerdict::read);
            is_confirmed_loss(&object, current.as_ref(), is_of_spec)
        };
        for (reason, retry, is_of_spec, expected) in [
            (AllMissing, "2026-01-01T00:00:11Z", true, true),
            (AllMissing, "2026-01-01T00:00:10.5Z", true, true),
            (AllMissing, "2026-01-01T00:00:10Z", true, false),
            (AllMissing, "now", true, false),
            (AllMissing, "2026-01-01T00:00:11Z", false, true),
            (InSync, "2026-01-01T00:00:11Z", true, false),
            (ExternalMissing, "", true, true),
            (NotCreated, "", true, true),
            (ExternalMissing, "", false, false),
        ] {
            assert_eq!(confirmed(reason, retry, is_of_spec), expected, "{reason} {retry} {is_of_spec}");
        }
    }

    #[test]
    fn the_text_has_the_answer() {
        let text = all_missing(Some("the server answered 404 to GET https://h/x")).text;
        assert!(text.contains("own mistake: the server answered 404 to GET https://h/x; one that is found"), "{text}");
        assert!(all_missing(None).text.contains("own mistake; one"));
    }
}
