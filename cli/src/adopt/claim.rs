//! The claim of `adopt` as a record, as a patch, and in words.

use drift_api::condition::{Claim, CorrectedReason, CorrectionStatus, ObservedReason, StatusFields};
use drift_api::identity::ResourceName;
use drift_api::names::GIVE_UP_ANNOTATION;
use drift_api::object::LeanObject;
use drift_api::object::status_patch::condition_patch;
use drift_language::Target;
use drift_poller::engine::judgement::rendered::appraise;
use json_patch::Patch;
use serde_json::{Value, json};

/// The sentence of the record.
const ADOPTED: &str = "adopted by a person, with kubectl drift adopt";

/// The reason for which an object cannot adopt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AdoptError {
    #[error("this version cannot read its driftCorrected, and writes nothing over it: update kubectl drift")]
    Unreadable,
    #[error("it is being deleted: nothing is claimed for it any more")]
    Deleting,
    #[error(
        "it owns {0} already, by its driftCorrected; to own another resource, give that one up first (`kubectl drift give-up KIND/NAME`)"
    )]
    Owns(Value),
    #[error(
        "its target {0} keeps the conditions in DriftReports (`objects.conditions: Report`), and the objects of such a target own nothing"
    )]
    KeepsReports(String),
    #[error("its target {0} only observes: a claim has no effect while `correct.mode` is Observe")]
    Observes(String),
    #[error("its target {0} writes nothing outside: it wakes the operator that owns the object, which needs no claim")]
    WritesNothing(String),
    #[error(
        "it gives up {0} by its annotation {GIVE_UP_ANNOTATION}: remove that first (`kubectl drift give-up KIND/NAME --undo`)"
    )]
    GivenUp(Value),
    #[error("a requirement of its target does not hold for it: {0}")]
    NotAllowed(String),
    #[error("what it names outside is unknown: {0}")]
    NamesNothing(String),
}

/// The record of the object with a claim on the resource that it names. A higher K brings a poll before anything else.
///
/// # Errors
/// [`AdoptError`].
pub(super) fn record_with_claim(target: &Target, object: &LeanObject) -> Result<CorrectionStatus, AdoptError> {
    let record = object.conditions.correction_status();
    if object.deleting {
        return Err(AdoptError::Deleting);
    }
    if target.objects.keeps_reports() {
        return Err(AdoptError::KeepsReports(target.name.clone()));
    }
    if !target.correct.mode.corrects() {
        return Err(AdoptError::Observes(target.name.clone()));
    }
    if !target.correct.writes_outside() {
        return Err(AdoptError::WritesNothing(target.name.clone()));
    }
    if object.conditions.corrected().is_some() && !is_understood(&record) {
        return Err(AdoptError::Unreadable);
    }
    if let Some(owned) = record.owned() {
        return Err(AdoptError::Owns(Value::from(&*owned.identity)));
    }
    let rendered = appraise(target, object);
    let why = || rendered.rejected.as_ref().map(|failure| failure.text.clone()).unwrap_or_default();
    if rendered.rejected.as_ref().is_some_and(|failure| failure.reason == ObservedReason::NotAllowed) {
        return Err(AdoptError::NotAllowed(why()));
    }
    let Some(identity) = rendered.identity.clone() else { return Err(AdoptError::NamesNothing(why())) };
    if object.gives_up(&identity) {
        return Err(AdoptError::GivenUp(Value::from(&*identity)));
    }
    let scope = target.scope_of(object.id.namespace.as_deref());
    let scope = scope.map_err(|error| AdoptError::NamesNothing(error.to_string()))?;
    Ok(CorrectionStatus {
        reason: Some(CorrectedReason::CorrectionApplied),
        correction: record.correction.saturating_add(1),
        claim: Some(Claim::Owns(ResourceName { scope, identity }.into())),
        text: ADOPTED.to_owned(),
        generation: object.generation,
        ..CorrectionStatus::default()
    })
}

/// False for the record of a newer version: its reason has no name here, or a word before its sentence is unknown, and then
/// all of the message is read as the sentence.
fn is_understood(record: &CorrectionStatus) -> bool {
    let has_unknown_word = ["correction ", "owns "].iter().any(|word| record.text.starts_with(word));
    record.reason.is_some() && !has_unknown_word
}

/// The patch on `/status` that writes the record onto the object exactly as it was read: its labels and its annotations, of
/// which an identity may be made, move no generation.
#[must_use]
pub(super) fn claim_patch(object: &LeanObject, record: &CorrectionStatus, now: &str) -> Patch {
    let Some(condition) = record.to_condition(object.conditions.corrected(), now) else { return Patch::default() };
    let mut patch = condition_patch(object, object.generation, &condition, &StatusFields::NONE);
    let version = object.resource_version.to_string();
    let test = json!([{"op": "test", "path": "/metadata/resourceVersion", "value": version}]);
    let mut whole: Patch = serde_json::from_value(test).unwrap_or_default();
    whole.0.append(&mut patch.0);
    whole
}

/// The consequence of the claim.
#[must_use]
pub(super) fn consequence(target: &Target) -> String {
    let actions = target.correct.actions();
    let follows: Vec<_> = [
        (actions.create, "created where it is missing"),
        (actions.update, "updated where it differs"),
        (actions.delete, "deleted with the object"),
    ]
    .into_iter()
    .filter_map(|(has_steps, follows)| has_steps.then_some(follows))
    .collect();
    format!("after the next poll the resource is {}, by target {}", follows.join(", "), target.name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::condition::Conditions;
    use drift_language::fixtures::proxies::{TEXT, target};

    const NOW: &str = "2026-01-01T00:00:30Z";
    const CORRECT: &str = "\n  correct: {mode: Correct, http: {update: [{method: PUT, url: 'http://h/${self.spec.id}'}], delete: [{method: DELETE, url: 'http://h/${self.spec.id}'}]}}\n";
    const NUDGE: &str =
        "\n  correct: {mode: Correct, nudge: {annotations: {example.com/nudged: '${string(correction)}'}}}\n";

    fn with(correct: &str) -> std::sync::Arc<Target> {
        target(&format!("{}{correct}", TEXT.trim_end()))
    }

    fn whole(metadata: &Value, id: &str, record: Option<(&str, &str)>) -> Value {
        let observed = json!({"type": "driftObserved", "status": "True", "reason": "FieldsDiffer",
            "message": "x [desired 3f2a9c71d04b58e6, correction 4]", "lastTransitionTime": NOW});
        let corrected = record.map(|(reason, message)| {
            json!({"type": "driftCorrected", "status": "False", "reason": reason, "message": message,
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        });
        let conditions: Vec<_> = [Some(observed), corrected].into_iter().flatten().collect();
        let mut object = json!({"metadata": {"name": "web", "namespace": "n", "uid": "u", "resourceVersion": "5", "generation": 3},
            "spec": {"id": id, "a": 1}, "status": {"conditions": conditions}});
        object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
        object
    }

    fn lean(target: &Target, whole: &Value) -> LeanObject {
        LeanObject::prune(whole, &target.all_fields)
    }

    #[test]
    fn a_claim_names_identity_scope_and_the_next_correction() {
        let target = with(CORRECT);
        let claim = |record| {
            let object = lean(&target, &whole(&json!({}), "x", record));
            record_with_claim(&target, &object).map(|record| record.message())
        };
        let expected =
            |correction| format!("correction {correction}, owns \"x\": {ADOPTED} [scope {}]", target.scope.id);
        assert_eq!(claim(None), Ok(expected(5)), "the verdict knows of four corrections");
        assert_eq!(claim(Some(("NotOurs", "it was there before"))), Ok(expected(5)));
        assert_eq!(claim(Some(("IdentityTaken", "correction 7: taken by Proxy a/b"))), Ok(expected(8)));
        assert_eq!(claim(Some(("CorrectionFailed", "correction 7, claims \"x\": refused"))), Ok(expected(8)));
        assert_eq!(
            consequence(&target),
            "after the next poll the resource is updated where it differs, deleted with the object, by target t"
        );
    }

    #[test]
    fn an_object_that_cannot_own_adopts_nothing() {
        let (correcting, none) = (with(CORRECT), json!({}));
        let deleting = json!({"deletionTimestamp": NOW});
        let gives_up = |identity: &str| json!({"annotations": {GIVE_UP_ANNOTATION: identity}});
        let owner = Some(("CorrectionApplied", "correction 2, owns \"x\": created"));
        let renamed = Some(("IdentityChanged", "correction 2, owns \"old\": created [scope 3f2a9c71]"));
        let (foreign, newer) = (Some(("Foreign", "x")), Some(("NotOurs", "correction 2, owns \"x\", lends \"y\": x")));
        for (target, metadata, id, record, expected) in [
            (&correcting, &none, "x", foreign, "this version cannot read its driftCorrected"),
            (&correcting, &none, "x", newer, "this version cannot read its driftCorrected"),
            (&correcting, &none, "x", owner, "it owns \"x\" already"),
            (&correcting, &none, "x", renamed, "it owns \"old\" already"),
            (&correcting, &deleting, "x", None, "is being deleted"),
            (&correcting, &gives_up("x"), "x", None, "it gives up \"x\""),
            (&correcting, &none, "forbidden", None, "this identity is forbidden"),
            (&correcting, &none, "", None, "is unknown"),
            (&with(""), &none, "x", None, "target t only observes"),
            (&with(NUDGE), &none, "x", None, "target t writes nothing outside"),
        ] {
            let error = record_with_claim(target, &lean(target, &whole(metadata, id, record))).unwrap_err();
            assert!(error.to_string().contains(expected), "{expected}: {error}");
        }
        let other = lean(&correcting, &whole(&gives_up("y"), "x", None));
        assert!(record_with_claim(&correcting, &other).is_ok(), "it gives up something else");
    }

    #[test]
    fn nothing_is_claimed_for_an_object_with_a_report() {
        let reported = target(&TEXT.replacen("objects: {", "objects: {conditions: Report, ", 1));
        let error = record_with_claim(&reported, &lean(&reported, &whole(&json!({}), "x", None))).unwrap_err();
        assert!(error.to_string().contains("own nothing"), "{error}");
    }

    #[test]
    fn a_claim_lands_on_the_object_that_was_read_alone() {
        let target = with(CORRECT);
        for record in [None, Some(("NotOurs", "it was there before"))] {
            let read = whole(&json!({}), "x", record);
            let object = lean(&target, &read);
            let claimed = record_with_claim(&target, &object).unwrap();
            let patch = claim_patch(&object, &claimed, NOW);
            let mut live = read.clone();
            json_patch::patch(&mut live, &patch).unwrap();
            let conditions = Conditions::from_status(live.get("status"));
            assert_eq!(conditions.correction_status(), claimed);
            assert_eq!(conditions.corrected().unwrap().last_transition_time.to_string(), NOW);
            for (field, value) in [("uid", json!("other")), ("resourceVersion", json!("6")), ("generation", json!(4))] {
                let mut moved = read.clone();
                moved["metadata"][field] = value;
                assert!(json_patch::patch(&mut moved, &patch).is_err(), "{field}");
            }
        }
    }
}
