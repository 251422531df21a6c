//! The formats that programs of other versions read and write: conditions, Lease annotations, and names.
//!
//! A change of these files breaks an upgrade or a rollback. Add entries; do not edit them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use drift_api::attestation::Attestation;
use drift_api::condition::{Condition, ConditionKind, CorrectedReason, CorrectionStatus, ObservedReason, Verdict};
use drift_api::held_corrections::HeldCorrections;
use drift_api::{names, unwritten};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn conditions_are_written_as_they_are_read() {
    let all = json(include_str!("formats/conditions.json"));
    let mut reasons = BTreeSet::new();
    for entry in all.as_array().into_iter().flatten() {
        let time = entry["lastTransitionTime"].as_str().unwrap_or_default();
        // What is not understood is kept as text, so it must not be part of the sentence.
        let (sentence, written) = if entry["type"] == names::DRIFT_OBSERVED {
            let verdict = Verdict::said_by(&Condition::from_json(ConditionKind::Observed, entry)).unwrap();
            (verdict.text.to_string(), Some(verdict.to_condition(None, time)))
        } else {
            let status = CorrectionStatus::read(&Condition::from_json(ConditionKind::Corrected, entry)).unwrap();
            let written = status.to_condition(None, time);
            (status.text, written)
        };
        let is_understood = !sentence.contains(['[', ']']) && !sentence.starts_with("correction ");
        assert!(is_understood, "{sentence}");
        assert_eq!(written.map(|condition| condition.to_json()).as_ref(), Some(entry));
        reasons.insert(entry["reason"].as_str().unwrap_or_default().to_owned());
    }
    let observed = ObservedReason::ALL.iter().map(|reason| reason.as_str());
    let known = observed.chain(CorrectedReason::ALL.iter().map(|reason| reason.as_str()));
    assert_eq!(reasons, known.map(str::to_owned).collect(), "each reason has an entry");
}

#[test]
fn annotations_of_leases_are_written_as_they_are_read() {
    let leases = json(include_str!("formats/leases.json"));
    for text in leases["attested"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert_eq!(Attestation::parse(text).map(|attestation| attestation.to_string()).as_deref(), Some(text));
    }
    let targets = unwritten::parse_annotation(&leases["unwritten"].to_string());
    assert_eq!(json(&unwritten::to_annotation(&targets)), leases["unwritten"]);
    let held = HeldCorrections::parse(&leases["held"].to_string());
    assert_eq!(json(&held.to_annotation()), leases["held"]);
}

#[test]
fn names_in_the_cluster_stay() {
    let mut written: Vec<&str> = names::OBJECT_ANNOTATIONS.iter().chain(&names::CONDITION_TYPES).copied().collect();
    written.extend([
        names::TARGET_API_VERSION,
        names::TARGET_KIND,
        names::FINALIZER,
        names::TARGETS_LABEL,
        names::CREDENTIAL_LABEL,
        names::READABLE_LABEL,
        names::HOSTS_ANNOTATION,
        names::MADE_FOR_ANNOTATION,
        names::JOB_OBJECT_LABEL,
        names::JOB_TARGET_LABEL,
        names::ATTESTED_TARGETS_ANNOTATION,
        names::UNWRITTEN_ANNOTATION,
        names::HELD_CORRECTIONS_ANNOTATION,
        names::SELECTIONS_ANNOTATION,
        names::POLLER_LEASE,
        names::CONTROLLER_LEASE,
        names::POLLER_MANAGER,
        names::CONTROLLER_MANAGER,
        names::NUDGE_MANAGER,
        names::MANIFEST_MANAGER,
    ]);
    let kept: Vec<&str> = include_str!("formats/names.txt").lines().collect();
    assert_eq!(written.join("\n"), kept.join("\n"));
}
