//! The stages of an object with `ready: true`, which the Go tests in `e2e/readiness` hold against kstatus and the health
//! script of the guide.

use drift_api::condition::{CorrectedReason, ObservedReason, StatusFields, Tag, Verdict, readiness_writes};
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::status_patch::condition_patch;
use serde_json::{Value, json};

const STAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/readiness/stages.json");
const NOW: &str = "2026-01-01T00:00:00Z";

/// The verdict, true if it was in sync before, a record that needs a person, and the status of kstatus and Argo CD.
type Row = (&'static str, ObservedReason, bool, Option<CorrectedReason>, &'static str, &'static str);

const ROWS: &[Row] = &[
    ("first poll outstanding", ObservedReason::NotYetPolled, false, None, "InProgress", "Progressing"),
    ("being created", ObservedReason::NotCreated, false, None, "InProgress", "Progressing"),
    ("in sync", ObservedReason::InSync, false, None, "Current", "Healthy"),
    ("being updated", ObservedReason::NotUpdated, false, None, "InProgress", "Progressing"),
    ("drifted", ObservedReason::FieldsDiffer, false, None, "InProgress", "Degraded"),
    ("gone", ObservedReason::ExternalMissing, false, None, "InProgress", "Degraded"),
    ("not ours", ObservedReason::NotCreated, false, Some(CorrectedReason::NotOurs), "Failed", "Degraded"),
    ("exhausted", ObservedReason::FieldsDiffer, false, Some(CorrectedReason::AttemptsExhausted), "Failed", "Degraded"),
    ("unreachable from the start", ObservedReason::ExternalUnreachable, false, None, "InProgress", "Progressing"),
    ("unreachable after in sync", ObservedReason::ExternalUnreachable, true, None, "InProgress", "Progressing"),
    ("wrong template", ObservedReason::RuleError, true, None, "Failed", "Degraded"),
    ("contradicted", ObservedReason::AbsenceContradicted, true, None, "Failed", "Degraded"),
    ("all missing", ObservedReason::AllMissing, true, None, "Failed", "Degraded"),
    ("suspended", ObservedReason::Suspended, true, None, "InProgress", "Suspended"),
];

fn object(reason: ObservedReason, seen: bool, held: Option<CorrectedReason>) -> Value {
    let record = held
        .map(|reason| json!({"type": "driftCorrected", "status": "False", "reason": reason.as_str(), "message": "m", "observedGeneration": 1}));
    let mut object = json!({"apiVersion": "net.example/v1", "kind": "DnsRecord",
        "metadata": {"name": "www", "namespace": "team-a", "uid": "u", "resourceVersion": "1", "generation": 1},
        "status": {"conditions": Vec::from_iter(record)}});
    let tag = Tag { seen, ready: true, ..Tag::default() };
    let verdict = Verdict { reason, text: "text".into(), tag, generation: Some(1) };
    let mut fields_read = FieldPaths::default();
    fields_read.readiness = true;
    let read = LeanObject::prune(&object, &fields_read);
    let fields: StatusFields = [("observedGeneration", json!(1))].into_iter().collect();
    let fields = fields.with_entries(readiness_writes(&verdict, &read.conditions, true, NOW));
    let patch = condition_patch(&read, Some(1), &verdict.to_condition(None, NOW), &fields);
    json_patch::patch(&mut object, &patch).expect("the patch fits");
    object
}

fn stages() -> String {
    let stage = |name: &str, kstatus: &str, argo: &str, object: Value| json!({"name": name, "kstatus": kstatus, "argo": argo, "object": object});
    let rows = ROWS
        .iter()
        .map(|(name, reason, seen, held, kstatus, argo)| stage(name, kstatus, argo, object(*reason, *seen, *held)));
    let mut edited = object(ObservedReason::InSync, false, None);
    edited["metadata"]["generation"] = json!(2);
    let mut deleted = object(ObservedReason::InSync, false, None);
    deleted["metadata"]["deletionTimestamp"] = json!(NOW);
    let others = [
        stage("edited", "InProgress", "Progressing", edited),
        stage("being deleted", "Terminating", "Healthy", deleted),
    ];
    let all: Vec<Value> = rows.chain(others).collect();
    format!("{:#}\n", Value::Array(all))
}

#[test]
fn the_stages_are_those_that_the_poller_writes() {
    let stages = stages();
    if std::env::var_os("DRIFT_WRITE_STAGES").is_some() {
        std::fs::write(STAGES, &stages).expect("stages.json is written");
    }
    let kept = std::fs::read_to_string(STAGES).unwrap_or_default();
    assert!(kept == stages, "e2e/readiness/stages.json is old: run this test with DRIFT_WRITE_STAGES=1");
}
