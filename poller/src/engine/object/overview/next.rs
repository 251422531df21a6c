//! The next step for an object, by its conditions and its target. The Leases show what else holds that step.

use drift_api::condition::{ConditionStatus, CorrectedReason, CurrentVerdict, ObservedReason};
use drift_api::held_corrections::Held;
use drift_api::object::LeanObject;
use drift_language::{Mode, Target};

use crate::engine::object::deletion::{Ending, ending_of};

/// The next step, or the hold that stands in its place. Its word is that of the NEXT column of `kubectl drift get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: it is in sync.
    Nothing,
    /// The external resource goes, or is left behind.
    Deletion,
    /// A poll has to say more.
    Poll,
    /// A correction.
    Correction,
    /// The object and its target hold the correction or the deletion.
    Held(Held),
    /// What the target's last good text says, which is not known.
    Unknown,
}

impl Next {
    /// The next step for an object of a target, by the target's text if that is known.
    #[must_use]
    pub fn of(target: Option<&Target>, object: &LeanObject) -> Self {
        let current = object.conditions.observed().and_then(CurrentVerdict::read);
        let reason = current.as_ref().map(|current| current.reason);
        let is_outdated =
            |current: &CurrentVerdict| object.generation.is_some() && current.generation != object.generation;
        let ends_by_itself = |target: &Target| object.deleting && ending_of(target, object) != Ending::Deleted;
        match &current {
            _ if target.is_some_and(ends_by_itself) => Self::Deletion,
            _ if target.is_some_and(|target| target.suspend) || reason == Some(ObservedReason::Suspended) => {
                Self::Held(Held::Suspended)
            }
            _ if reason == Some(ObservedReason::TargetMissing) => Self::Held(Held::TargetFormer),
            _ if object.paused => Self::Held(Held::Paused),
            _ if target.is_some_and(|target| awaits_approval(target, object)) && object.deleting => {
                Self::Held(Held::AwaitingApproval)
            }
            _ if object.deleting => Self::Deletion,
            None => Self::Poll,
            Some(current) if is_outdated(current) => Self::Poll,
            Some(current) => match (Self::of_dispute(target, object), current.reason.status()) {
                (Some(next), _) => next,
                (None, ConditionStatus::False) => Self::Nothing,
                (None, ConditionStatus::Unknown) if current.reason == ObservedReason::AbsenceContradicted => {
                    Self::Held(Held::AttemptsExhausted)
                }
                (None, ConditionStatus::Unknown) => Self::Poll,
                (None, ConditionStatus::True) => {
                    target.map_or(Self::Unknown, |target| Self::of_drift(target, object, current))
                }
            },
        }
    }

    /// The step in a dispute about the external resource or its id, whatever the verdict is.
    fn of_dispute(target: Option<&Target>, object: &LeanObject) -> Option<Self> {
        if target.is_some_and(|target| !target.correct.mode.corrects()) {
            return None;
        }
        match object.conditions.correction_status().reason? {
            CorrectedReason::IdentityTaken => Some(Self::Held(Held::IdentityTaken)),
            CorrectedReason::IdentityContested => Some(Self::Held(Held::IdentityContested)),
            CorrectedReason::StoredIdChanged => Some(Self::Held(Held::StoredIdChanged)),
            _ => None,
        }
    }

    fn of_drift(target: &Target, object: &LeanObject, current: &CurrentVerdict) -> Self {
        let note = object.conditions.correction_status();
        match note.reason {
            _ if !target.correct.mode.corrects() => Self::Held(Held::Observing),
            Some(CorrectedReason::NotOurs) => Self::Held(Held::NotOurs),
            Some(CorrectedReason::IdentityChanged) => Self::Held(Held::IdentityChanged),
            _ if current.tag.correction != note.correction => Self::Held(Held::NotVerified),
            _ if current.replaces_in_vain(&note) => Self::Held(Held::AttemptsExhausted),
            Some(CorrectedReason::CreationInDoubt) => Self::Held(Held::CreationInDoubt),
            _ if awaits_approval(target, object) => Self::Held(Held::AwaitingApproval),
            _ if current.tag.unhealed >= target.correct.limits.attempts => Self::Held(Held::AttemptsExhausted),
            _ => Self::Correction,
        }
    }

    /// Returns true if the controller takes this step, so that its holds apply.
    #[must_use]
    pub fn awaits_controller(self, object: &LeanObject) -> bool {
        self == Self::Correction || (self == Self::Deletion && object.has_finalizer())
    }

    /// Returns true if other objects claim the external resource.
    #[must_use]
    pub const fn is_dispute(self) -> bool {
        matches!(self, Self::Held(Held::IdentityTaken | Held::IdentityContested))
    }

    /// The hold by the object and its target.
    #[must_use]
    pub const fn held(self) -> Option<Held> {
        match self {
            Self::Held(why) => Some(why),
            Self::Nothing | Self::Deletion | Self::Poll | Self::Correction | Self::Unknown => None,
        }
    }

    /// The word for tables; `None` if there is no next step.
    #[must_use]
    pub const fn as_str(self) -> Option<&'static str> {
        Some(match self {
            Self::Nothing => return None,
            Self::Deletion => "Deletion",
            Self::Poll => "Poll",
            Self::Correction => "Correction",
            Self::Held(why) => why.as_str(),
            Self::Unknown => "Unknown",
        })
    }
}

fn awaits_approval(target: &Target, object: &LeanObject) -> bool {
    target.correct.mode == Mode::Approve && object.awaits_approval().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{TEXT, target};
    use drift_api::names::FINALIZER;
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::{Value, json};

    const CORRECT: &str = "\n  correct: {mode: Correct, http: {create: [{method: POST, url: 'http://h/x'}], update: [{method: PUT, url: 'http://h/x'}]}}\n";

    fn object(metadata: Value, observed: (&str, &str, &str), corrected: (&str, &str)) -> LeanObject {
        let mut whole = json!({"metadata": metadata, "status": {"conditions": [
            {"type": "driftObserved", "status": observed.0, "reason": observed.1, "message": observed.2, "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "driftCorrected", "status": "True", "reason": corrected.0, "message": corrected.1, "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        whole["metadata"]["generation"] = json!(1);
        LeanObject::prune(&whole, &FieldPaths::default())
    }

    #[test]
    fn what_comes_next_follows_from_what_stands() {
        let (observing, correcting) = (target(TEXT), target(&format!("{}{CORRECT}", TEXT.trim_end())));
        let suspended = TEXT.replace("  interval: 30s", "  interval: 30s\n  suspend: true");
        let suspended = target(&format!("{}{CORRECT}", suspended.trim_end()));
        let none = json!({});
        let (drifted, applied) = (
            ("True", "FieldsDiffer", "x [desired 3f2a9c71d04b58e6, correction 2]"),
            ("CorrectionApplied", "correction 2: x"),
        );
        let hopeless = ("True", "FieldsDiffer", "x [desired 3f2a9c71d04b58e6, correction 2, unhealed 99]");
        let in_vain =
            ("True", "FieldsDiffer", "x [desired 3f2a9c71d04b58e6, correction 2, unhealed 1, fields image, replace]");
        let replaced = ("CorrectionApplied", "correction 2, owns \"x\": replaced [replaced]");
        let paused = json!({"annotations": {"driftpoller.dev/paused": "true"}});
        let deleting = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
        let orphaned = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FINALIZER],
            "annotations": {"driftpoller.dev/paused": "true", "driftpoller.dev/orphan": "true"}});
        let table = [
            (&correcting, &none, ("False", "InSync", "x"), applied, None),
            (&correcting, &none, ("Unknown", "PollTimedOut", "x"), applied, Some("Poll")),
            (&correcting, &none, ("Unknown", "AbsenceContradicted", "x"), applied, Some("AttemptsExhausted")),
            (&correcting, &none, ("Unknown", "Suspended", "x"), applied, Some("Suspended")),
            (&correcting, &none, ("Unknown", "TargetMissing", "x"), applied, Some("TargetFormer")),
            (&correcting, &none, drifted, applied, Some("Correction")),
            (&correcting, &none, drifted, ("CorrectionApplied", "correction 3: x"), Some("NotVerified")),
            (&correcting, &none, drifted, ("NotOurs", "correction 2: x"), Some("NotOurs")),
            (&correcting, &none, drifted, ("IdentityChanged", "correction 2: x"), Some("IdentityChanged")),
            (&correcting, &none, drifted, ("IdentityTaken", "taken by Proxy a/b"), Some("IdentityTaken")),
            (&correcting, &none, ("False", "InSync", "x"), ("IdentityTaken", "x"), Some("IdentityTaken")),
            (&correcting, &none, drifted, ("IdentityContested", "owns \"x\": x"), Some("IdentityContested")),
            (&correcting, &paused, drifted, ("IdentityContested", "x"), Some("Paused")),
            (&observing, &none, drifted, ("IdentityTaken", "x"), Some("Observing")),
            (&correcting, &none, hopeless, applied, Some("AttemptsExhausted")),
            (&correcting, &none, in_vain, replaced, Some("AttemptsExhausted")),
            (&correcting, &none, in_vain, applied, Some("Correction")),
            (&correcting, &paused, ("False", "InSync", "x"), applied, Some("Paused")),
            (&correcting, &deleting, drifted, applied, Some("Deletion")),
            (&correcting, &orphaned, drifted, applied, Some("Deletion")),
            (&observing, &none, drifted, applied, Some("Observing")),
            (&suspended, &paused, drifted, applied, Some("Suspended")),
        ];
        for (target, metadata, observed, corrected, expected) in table {
            let object = object(metadata.clone(), observed, corrected);
            let next = Next::of(Some(target), &object);
            assert_eq!(next.as_str(), expected, "{observed:?} {corrected:?}");
            let is_step = matches!(expected, None | Some("Poll" | "Correction" | "Deletion" | "Unknown"));
            assert_eq!(next.held().is_none(), is_step, "{next:?}");
        }
        let bare = LeanObject::prune(&json!({"metadata": {"name": "x"}}), &FieldPaths::default());
        assert_eq!(Next::of(Some(&correcting), &bare), Next::Poll);
        assert_eq!(Next::of(None, &object(none.clone(), drifted, applied)), Next::Unknown);
        assert_eq!(Next::of(None, &object(paused, drifted, applied)), Next::Held(Held::Paused));
    }
}
