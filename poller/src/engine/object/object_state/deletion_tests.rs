//! Polls of an object that is being deleted.

use std::sync::Arc;

use drift_api::condition::{DesiredHash, ObservedReason};
use drift_api::names::FINALIZER;
use serde_json::json;

use super::*;
use crate::engine::fixtures::{self, TEXT, at, target};
use crate::engine::judgement::finding::Finding;
use crate::engine::judgement::rendered::appraise;
use crate::engine::writes::write_attempts::WriteOutcome;
use drift_api::condition::Verdict;

/// An object in sync at correction 7 before its deletion, with this record of the controller.
fn object(reason: &str, correction: u64, generation: i64) -> LeanObject {
    let spec = json!({"id": "x", "a": 1});
    let desired_hash = DesiredHash::of(&json!(["x", {"a": 1}]));
    let observed = json!({"type": "driftObserved", "status": "False", "reason": "InSync", "observedGeneration": 1,
        "message": format!("x [desired {desired_hash}, correction 7]")});
    let corrected = json!({"type": "driftCorrected", "status": "Unknown", "reason": reason,
        "observedGeneration": generation, "message": format!("correction {correction}, owns \"x\": text")});
    let mut object = fixtures::object(&target(TEXT), "u", &spec, &json!({"conditions": [observed, corrected]}));
    object.generation = Some(2);
    object.deleting = true;
    object.finalizers = [FINALIZER.into()].into();
    object
}

fn state(object: LeanObject) -> ObjectState {
    let target = target(TEXT);
    let rendered = appraise(&target, &object);
    ObjectState::new(object, rendered, Arc::new(PollSettings::of(&target)), Arrival::Listed, at(0))
}

fn see(state: &mut ObjectState, object: LeanObject, version: u32) {
    let object = LeanObject { resource_version: version.to_string().as_str().into(), ..object };
    let rendered = appraise(&target(TEXT), &object);
    state.see(object, rendered, at(1).moment);
}

/// Polls until a verdict is to be written. Returns it.
fn judged(state: &mut ObjectState, finding: &Finding) -> Verdict {
    for second in 1..100 {
        if state.poll_due().is_some_and(|due| due <= at(second).moment) {
            let begun = state.begin_poll(at(second));
            assert!(state.finish_poll(begun, finding.clone(), at(second).moment));
        }
        if let Some(verdict) = state.due_verdict(at(second).moment) {
            return verdict;
        }
    }
    unreachable!("{finding:?} is never written")
}

#[test]
fn only_a_deletion_that_was_answered_is_polled() {
    for (reason, correction, generation, expected) in [
        ("CorrectionStarted", 8, 2, true),
        ("DeletionUnclear", 8, 2, true),
        ("DeletionUnclear", 8, 1, true),
        ("AwaitingApproval", 8, 2, true),
        ("AwaitingApproval", 8, 1, false),
        ("CorrectionFailed", 8, 2, true),
        ("CorrectionFailed", 7, 2, false),
        ("CorrectionStarted", 7, 1, false),
        ("CorrectionApplied", 8, 1, false),
        ("CorrectionApplied", 7, 1, false),
    ] {
        let object = object(reason, correction, generation);
        let mut polled = state(object.clone());
        let is_polled = polled.poll_due().is_some();
        assert_eq!(is_polled, expected, "{reason} {correction} {generation}");
        assert_eq!(polled.silence_due().is_some(), expected, "{reason}");
        if !expected {
            assert_eq!(polled.next_write(at(99).moment), None, "{reason}");
        }
        let released = LeanObject { finalizers: Box::default(), ..object };
        assert!(state(released).poll_due().is_none(), "{reason}: held by others alone");
    }
}

#[test]
fn a_verdict_on_a_deletion_carries_its_number() {
    for (finding, expected) in
        [(Finding::Absent, ObservedReason::NotCreated), (Finding::InSync, ObservedReason::InSync)]
    {
        let mut deleting = state(object("CorrectionApplied", 7, 1));
        assert!(deleting.poll_due().is_none(), "nothing was sent");
        see(&mut deleting, object("CorrectionStarted", 8, 2), 2);
        let verdict = judged(&mut deleting, &finding);
        assert_eq!((verdict.reason, verdict.tag.correction, verdict.generation), (expected, 8, Some(2)));
    }
}

#[test]
fn what_a_deletion_takes_away_is_no_incident() {
    let mut deleting = state(object("CorrectionStarted", 8, 2));
    let wall = "2026-01-01T00:00:00Z";
    for finding in [Finding::InSync, Finding::Absent] {
        judged(&mut deleting, &finding);
        deleting.begin_write(at(100).moment, wall).unwrap();
        let sent = deleting.finish_write(&WriteOutcome::Written, at(100).moment).unwrap();
        assert_eq!(sent.announcement, None, "{finding:?}");
        let mut written = deleting.object().clone();
        written.conditions.observed.as_mut().unwrap().condition = sent.condition;
        let version = if finding == Finding::InSync { 3 } else { 4 };
        see(&mut deleting, written, version);
    }
}

#[test]
fn a_deletion_is_not_attested_by_the_word_of_others() {
    let mut forged = object("CorrectionStarted", 8, 2);
    let observed = &mut forged.conditions.observed.as_mut().unwrap().condition;
    (observed.status, observed.reason) = (ConditionStatus::True, "NotCreated".into());
    assert!(state(forged).owes_verdict(Moment::START).is_some());
}
