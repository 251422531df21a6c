//! The conditions of `ready: true`: written with the verdict, after a change of the record, and never again.

use std::sync::Arc;

use drift_api::condition::ObservedReason;
use drift_language::{Actions, Confirm, Target};
use serde_json::{Value, json};

use super::*;
use crate::engine::fixtures::{TEXT, at, target};
use crate::engine::judgement::rendered::appraise;
use crate::engine::judgement::{Drift, Finding};
use crate::engine::writes::write_attempts::WriteOutcome;

/// An object as the API server stores it.
struct Stored {
    target: Arc<Target>,
    whole: Value,
    state: ObjectState,
    version: u64,
}

impl Stored {
    fn new() -> Self {
        let metadata = json!({"uid": "u", "name": "n", "resourceVersion": "1", "generation": 1});
        Self::of(
            &TEXT.replace("  compare:", "  ready: true\n  compare:"),
            json!({"metadata": metadata, "spec": {"id": "x", "a": 1}}),
        )
    }

    fn of(text: &str, whole: Value) -> Self {
        let target = target(text);
        let object = LeanObject::prune(&whole, &target.poll_fields);
        let confirm = Confirm { absent: 1, ..Confirm::default() };
        let actions = Actions { create: true, ..Actions::NONE };
        let settings = PollSettings { confirm, settle: Duration::ZERO, actions, ..PollSettings::of(&target) };
        let state =
            ObjectState::new(object.clone(), appraise(&target, &object), Arc::new(settings), Arrival::Later, at(0));
        Self { target, whole, state, version: 1 }
    }

    fn poll(&mut self, seconds: u64, finding: Finding) {
        let begun = self.state.begin_poll(at(seconds));
        self.state.finish_poll(begun, finding, at(seconds).moment);
    }

    /// Makes the due write, if any. Returns the conditions besides `driftObserved`, as `Ready True, Stalled True`.
    fn write(&mut self, seconds: u64) -> Option<String> {
        let update = self.state.begin_write(at(seconds).moment, "2026-01-01T00:00:00Z")?;
        json_patch::patch(&mut self.whole, &update.patch).unwrap();
        self.show(seconds);
        self.state.finish_write(&WriteOutcome::Written, at(seconds).moment);
        let entries = self.whole["status"]["conditions"].as_array().unwrap();
        let entries = entries.iter().filter(|entry| !entry["type"].as_str().unwrap().starts_with("drift"));
        let words =
            |entry: &Value| format!("{} {}", entry["type"].as_str().unwrap(), entry["status"].as_str().unwrap());
        Some(entries.map(words).collect::<Vec<_>>().join(", "))
    }

    fn show(&mut self, seconds: u64) {
        self.version += 1;
        self.whole["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = LeanObject::prune(&self.whole, &self.target.poll_fields);
        let rendered = appraise(&self.target, &object);
        self.state.see(object, rendered, at(seconds).moment);
    }

    fn set_condition(&mut self, seconds: u64, condition: Value) {
        let conditions = self.whole["status"]["conditions"].as_array_mut().unwrap();
        conditions.retain(|entry| entry["type"] != condition["type"]);
        conditions.push(condition);
        self.show(seconds);
    }
}

#[test]
fn readiness_comes_with_the_verdict_and_never_again() {
    let mut object = Stored::new();
    object.poll(1, Finding::Absent);
    assert_eq!(object.write(1).as_deref(), Some("Ready False, Reconciling True"));
    object.poll(31, Finding::InSync);
    assert_eq!(object.write(31).as_deref(), Some("Ready True"));
    assert_eq!(object.whole["status"]["observedGeneration"], 1);
    for seconds in [61, 91, 121] {
        object.poll(seconds, Finding::InSync);
        assert_eq!(object.write(seconds), None, "after {seconds} s");
    }
    object.poll(151, Finding::Absent);
    assert_eq!(object.write(151).as_deref(), Some("Ready Unknown, Reconciling True"));
}

#[test]
fn drift_without_an_action_is_stalled() {
    let mut object = Stored::new();
    object.poll(1, Finding::InSync);
    object.write(1);
    object.poll(31, Finding::Differs(Drift::default()));
    object.poll(61, Finding::Differs(Drift::default()));
    assert_eq!(object.write(61).as_deref(), Some("Ready False, Stalled True"));
}

#[test]
fn a_changed_record_moves_readiness_without_a_poll() {
    let mut object = Stored::new();
    object.poll(1, Finding::Absent);
    object.write(1);
    let refused = json!({"type": "driftCorrected", "status": "False", "reason": "NotOurs", "message": "not ours",
        "observedGeneration": 1});
    object.set_condition(2, refused);
    assert_eq!(object.write(2).as_deref(), Some("Ready False, Stalled True"));
    assert_eq!(object.write(3), None);
    assert_eq!(object.state.object().conditions.observed().unwrap().reason, ObservedReason::NotCreated.as_str());
}

#[test]
fn another_writer_of_ready_causes_no_loop() {
    let mut object = Stored::new();
    object.poll(1, Finding::InSync);
    object.write(1);
    let mut written = 0;
    for seconds in 2..=601 {
        object.set_condition(seconds, json!({"type": "Ready", "status": "False", "reason": "Theirs", "message": ""}));
        written += u64::from(object.write(seconds).is_some());
    }
    assert!((10..=17).contains(&written), "{written} writes in ten minutes");
}

#[test]
fn readiness_goes_with_the_key() {
    let mut object = Stored::new();
    object.poll(1, Finding::InSync);
    object.write(1);
    let mut edited = Stored::of(TEXT, object.whole);
    edited.poll(2, Finding::InSync);
    assert_eq!(edited.write(2).as_deref(), Some(""));
    assert_eq!(edited.whole["status"].get("observedGeneration"), None);
    edited.poll(32, Finding::InSync);
    assert_eq!(edited.write(32), None);
}
