//! The deletion of an object, as far as public data shows it: its finalizers and annotations, its conditions, and its
//! target. It says if a poll may end the deletion, and how the deletion is expected to end.
//!
//! The controller decides and has more data: other objects with the same external resource, remembered statuses that
//! another writer removed, delays and limits.

use drift_api::condition::{Condition, CorrectedReason, CurrentVerdict};
use drift_api::names::{GIVE_UP_ANNOTATION, ORPHAN_ANNOTATION};
use drift_api::object::LeanObject;
use drift_language::Target;

/// Placeholder for a verdict's reason while an object is being deleted.
pub const DELETING: &str = "Deleting";
/// Message for the placeholder reason.
pub const NO_VERDICT: &str = "what is being deleted has no verdict: a poll only shows if its external resource is gone";

/// Returns the verdict on an object. An object that is being deleted has none, because its condition is from before.
#[must_use]
pub fn verdict_of(object: &LeanObject) -> Option<&Condition> {
    object.conditions.observed().filter(|_| !object.deleting)
}

/// Returns true if a poll may end the deletion of an object: a request to delete the external resource was answered, and
/// the resource may be gone.
#[must_use]
pub fn awaits_absence(object: &LeanObject) -> bool {
    if !object.deleting || !object.has_finalizer() {
        return false;
    }
    let record = object.conditions.correction_status();
    // A deletion raises the generation, so this record is about the deletion. An edit may follow it.
    let is_of_deletion = record.generation == object.generation;
    let is_polled = || {
        let current = object.conditions.observed().and_then(CurrentVerdict::read);
        current.is_some_and(|current| current.tag.correction >= record.correction)
    };
    match record.reason {
        Some(CorrectedReason::DeletionUnclear) => true,
        Some(CorrectedReason::CorrectionStarted) => is_of_deletion,
        // A system may refuse to delete again what it is deleting already. One poll for each try is enough.
        // A deletion that is to be approved may follow one that found nothing.
        Some(CorrectedReason::CorrectionFailed | CorrectedReason::AwaitingApproval) => is_of_deletion && !is_polled(),
        _ => false,
    }
}

/// Expected end of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The deletion does not wait for these programs, because their finalizer is not on the object.
    NotHeldByUs,
    /// The finalizer is removed and the external resource stays, for this reason.
    LeftBehind(String),
    /// The external resource is deleted, and then the finalizer is removed.
    Deleted,
}

/// Returns the expected end of this object's deletion.
#[must_use]
pub fn ending_of(target: &Target, object: &LeanObject) -> Ending {
    if !object.has_finalizer() {
        return Ending::NotHeldByUs;
    }
    let left = |why: &str| Ending::LeftBehind(why.to_owned());
    if !target.correct.mode.corrects() {
        return left("the target only observes: its `correct.mode` is Observe");
    }
    if !target.correct.actions().delete {
        return left("the target has no steps for delete");
    }
    if object.orphan {
        return Ending::LeftBehind(format!("the object says so by its annotation {ORPHAN_ANNOTATION}"));
    }
    let note = object.conditions.correction_status();
    let Some(owned) = note.owned() else {
        return left("the object owns nothing outside: its driftCorrected does not say so");
    };
    if target.scope_of(object.id.namespace.as_deref()).is_ok_and(|scope| !owned.is_in(scope)) {
        return left("what the object owns was claimed in another scope than the target has now");
    }
    if target.identity_of(&object.view.open()).is_ok_and(|named| named != *owned.identity) {
        return left("the object names another external resource now than the one that it owns");
    }
    if object.gives_up(&owned.identity) {
        return Ending::LeftBehind(format!("the object gives it up by its annotation {GIVE_UP_ANNOTATION}"));
    }
    if object.conditions.held_by_another().is_some() {
        return left("another object claims it too (IdentityContested)");
    }
    Ending::Deleted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{TEXT, target};
    use drift_api::names::FINALIZER;
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::{Value, json};

    const CORRECT: &str = "\n  correct: {mode: Correct, http: {delete: [{method: DELETE, url: 'http://h/x'}]}}\n";

    fn object(note: &str, corrected: &str, metadata: &Value) -> LeanObject {
        let condition = |kind: &str, reason: &str, message: &str| {
            json!({"type": kind, "status": "Unknown", "reason": reason, "message": message, "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let conditions = [condition("driftObserved", "InSync", "x"), condition("driftCorrected", corrected, note)];
        let mut whole =
            json!({"metadata": metadata, "spec": {"id": "x", "a": 1}, "status": {"conditions": conditions}});
        whole["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let mut fields = FieldPaths::default();
        fields.insert(vec!["spec".to_owned()]);
        LeanObject::prune(&whole, &fields)
    }

    #[test]
    fn only_what_is_surely_ours_is_deleted() {
        let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
        let (owned, held) = ("correction 2, owns \"x\": created", json!({"finalizers": [FINALIZER]}));
        let orphan = json!({"finalizers": [FINALIZER], "annotations": {ORPHAN_ANNOTATION: "true"}});
        let others = json!({"finalizers": ["example.com/other"]});
        let ending = |target: &Target, note, corrected, metadata: &Value| match ending_of(
            target,
            &object(note, corrected, metadata),
        ) {
            Ending::LeftBehind(why) => why,
            other => format!("{other:?}"),
        };
        let of = |note, metadata| ending(&correcting, note, "CorrectionApplied", metadata);
        assert_eq!(of(owned, &held), "Deleted");
        assert_eq!(of(owned, &others), "NotHeldByUs");
        assert!(of(owned, &orphan).contains("annotation driftpoller.dev/orphan"));
        assert!(of("correction 2: created", &held).contains("owns nothing outside"));
        assert!(of("correction 2, owns \"y\": created", &held).contains("names another external resource"));
        assert!(of("correction 2, owns \"x\": created [scope 3f2a9c71]", &held).contains("another scope"));
        assert!(ending(&correcting, owned, "IdentityContested", &held).contains("another object claims it too"));
        let given_up = json!({"finalizers": [FINALIZER], "annotations": {GIVE_UP_ANNOTATION: "x"}});
        assert!(of(owned, &given_up).contains("annotation driftpoller.dev/give-up"));
        assert!(ending(&target(TEXT), owned, "CorrectionApplied", &held).contains("only observes"));
        let creating = target(&format!("{}{}", TEXT.trim_end(), CORRECT.replace("delete", "create")));
        assert!(ending(&creating, owned, "CorrectionApplied", &held).contains("no steps for delete"));
    }
}
