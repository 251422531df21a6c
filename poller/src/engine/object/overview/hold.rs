//! The reason why the controller does not correct an object, as far as the object and its target show it.
//!
//! The controller knows more reasons: its circuit breaker, limits and delays.

use drift_api::condition::{ConditionStatus, CorrectedReason, CurrentVerdict};
use drift_api::object::LeanObject;
use drift_language::{Mode, Target};

/// A reason why an object is not corrected. The words are those of the NEXT column of `kubectl drift get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The target is suspended.
    Suspended,
    /// The object is paused.
    Paused,
    /// The target only observes.
    Observing,
    /// Another object has the external resource.
    IdentityTaken,
    /// Other objects claim the external resource too.
    IdentityContested,
    /// The external resource existed before the object.
    NotOurs,
    /// The object's identity was edited.
    IdentityChanged,
    /// A poll verifies the last correction first.
    Verification,
    /// A replacement changed nothing.
    AttemptsExhausted,
    /// Many corrections in a row changed nothing.
    HourlyTry,
}

impl Hold {
    /// Returns the reason for an object. Without drift only a disputed identity counts as one.
    #[must_use]
    pub fn of(target: &Target, object: &LeanObject) -> Option<Self> {
        let record = object.conditions.correction_status();
        let corrects = target.correct.mode == Mode::Correct;
        let dispute = match record.reason {
            Some(CorrectedReason::IdentityTaken) if corrects => Some(Self::IdentityTaken),
            Some(CorrectedReason::IdentityContested) if corrects => Some(Self::IdentityContested),
            _ => None,
        };
        let current = object.conditions.observed().and_then(CurrentVerdict::read);
        let Some(current) = current.filter(|current| current.reason.status() == ConditionStatus::True) else {
            return dispute.filter(|_| !object.deleting);
        };
        match record.reason {
            _ if object.deleting => None,
            _ if target.suspend => Some(Self::Suspended),
            _ if object.paused => Some(Self::Paused),
            _ if !corrects => Some(Self::Observing),
            _ if dispute.is_some() => dispute,
            Some(CorrectedReason::NotOurs) => Some(Self::NotOurs),
            Some(CorrectedReason::IdentityChanged) => Some(Self::IdentityChanged),
            _ if current.tag.correction != record.correction => Some(Self::Verification),
            _ if current.replaces_in_vain(&record) => Some(Self::AttemptsExhausted),
            _ if current.tag.unhealed >= target.correct.limits.attempts => Some(Self::HourlyTry),
            _ => None,
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Suspended => "Suspended",
            Self::Paused => "Paused",
            Self::Observing => "Observing",
            Self::IdentityTaken => "IdentityTaken",
            Self::IdentityContested => "IdentityContested",
            Self::NotOurs => "NotOurs",
            Self::IdentityChanged => "IdentityChanged",
            Self::Verification => "Verification",
            Self::AttemptsExhausted => "AttemptsExhausted",
            Self::HourlyTry => "HourlyTry",
        }
    }

    /// A sentence for people.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Suspended => "the target is suspended",
            Self::Paused => "the object is paused by its annotation driftpoller.dev/paused",
            Self::Observing => "the target only observes: its `correct.mode` is not Correct",
            Self::IdentityTaken => "another object has the external resource",
            Self::IdentityContested => "other objects claim the external resource too",
            Self::NotOurs => "the external resource was not made for this object, and `correct.existing` is Refuse",
            Self::IdentityChanged => {
                "the object's identity was edited, and the resource of the old identity still exists"
            }
            Self::Verification => "a poll verifies the last correction first",
            Self::AttemptsExhausted => {
                "a replacement was accepted and the same fields differ: no further try until an edit or a retry request"
            }
            Self::HourlyTry => "several corrections in a row changed nothing: one try an hour, or a retry request",
        }
    }
}

#[cfg(test)]
mod tests {
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::{Value, json};

    use super::*;
    use crate::engine::fixtures::{TEXT, target};

    const CORRECT: &str = "\n  correct: {mode: Correct, http: {create: [{method: POST, url: 'http://h/x'}]}}\n";

    fn object(metadata: &Value, observed: (&str, &str, &str), corrected: (&str, &str)) -> LeanObject {
        let condition = |kind: &str, status: &str, reason: &str, message: &str| {
            json!({"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let (status, reason, message) = observed;
        let conditions = [
            condition("driftObserved", status, reason, message),
            condition("driftCorrected", "True", corrected.0, corrected.1),
        ];
        let mut whole = json!({"metadata": metadata, "status": {"conditions": conditions}});
        whole["metadata"]["generation"] = json!(1);
        LeanObject::prune(&whole, &FieldPaths::default())
    }

    #[test]
    fn the_hold_has_the_word_of_the_next_column() {
        let (observing, correcting) = (target(TEXT), target(&format!("{}{CORRECT}", TEXT.trim_end())));
        let suspended = TEXT.replace("  interval: 30s", "  interval: 30s\n  suspend: true");
        let (none, paused) = (json!({}), json!({"annotations": {"driftpoller.dev/paused": "true"}}));
        let deleting = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        let drifted = ("True", "FieldsDiffer", "x [desired 3f2a9c71d04b58e6, correction 2]");
        let hopeless = ("True", "FieldsDiffer", "x [desired 3f2a9c71d04b58e6, correction 2, unhealed 99]");
        let in_vain =
            ("True", "FieldsDiffer", "x [desired 3f2a9c71d04b58e6, correction 2, unhealed 1, fields image, replace]");
        let in_sync = ("False", "InSync", "x");
        let applied = ("CorrectionApplied", "correction 2: x");
        let table = [
            (&correcting, &none, drifted, applied, None),
            (&correcting, &none, in_sync, applied, None),
            (&correcting, &paused, in_sync, applied, None),
            (&correcting, &deleting, drifted, ("IdentityTaken", "x"), None),
            (&correcting, &none, in_sync, ("IdentityTaken", "x"), Some(Hold::IdentityTaken)),
            (&correcting, &none, drifted, ("IdentityContested", "x"), Some(Hold::IdentityContested)),
            (&correcting, &paused, drifted, ("IdentityContested", "x"), Some(Hold::Paused)),
            (&observing, &none, drifted, ("IdentityTaken", "x"), Some(Hold::Observing)),
            (&observing, &none, in_sync, ("IdentityTaken", "x"), None),
            (&target(&suspended), &paused, drifted, applied, Some(Hold::Suspended)),
            (&correcting, &none, drifted, ("NotOurs", "correction 2: x"), Some(Hold::NotOurs)),
            (&correcting, &none, drifted, ("IdentityChanged", "correction 2: x"), Some(Hold::IdentityChanged)),
            (&correcting, &none, drifted, ("CorrectionApplied", "correction 3: x"), Some(Hold::Verification)),
            (
                &correcting,
                &none,
                in_vain,
                ("CorrectionApplied", "correction 2, owns \"x\": replaced [replaced]"),
                Some(Hold::AttemptsExhausted),
            ),
            (&correcting, &none, hopeless, applied, Some(Hold::HourlyTry)),
        ];
        for (target, metadata, observed, corrected, expected) in table {
            let found = Hold::of(target, &object(metadata, observed, corrected));
            assert_eq!(found, expected, "{metadata} {observed:?} {corrected:?}");
            assert!(found.is_none_or(|hold| format!("{hold:?}") == hold.as_str() && !hold.sentence().is_empty()));
        }
    }
}
