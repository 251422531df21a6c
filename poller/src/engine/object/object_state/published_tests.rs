//! Published fields: written with the condition, only on change, and no reason for a poll.

use std::sync::Arc;

use drift_api::condition::ObservedReason;
use drift_language::{Actions, Confirm, Target};
use serde_json::{Value, json};

use super::*;
use crate::engine::fixtures::{TEXT, at, target};
use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::judgement::rendered::appraise;
use crate::engine::writes::write_attempts::{Refusal, WriteOutcome};

/// A case with the published value of a poll at each second.
type Case = (&'static str, fn(u64) -> Value);

/// An object as the API server stores it.
struct Published {
    target: Arc<Target>,
    whole: Value,
    state: ObjectState,
    version: u64,
}

impl Published {
    fn new() -> Self {
        let target = target(&TEXT.replace("  compare:", "  publish: {address: \"${observed.?address}\"}\n  compare:"));
        let metadata = json!({"uid": "u", "name": "n", "resourceVersion": "1", "generation": 1});
        let whole = json!({"metadata": metadata, "spec": {"id": "x", "a": 1}, "status": {"phase": "Up"}});
        let object = LeanObject::prune(&whole, &target.poll_fields);
        let rendered = appraise(&target, &object);
        let confirm = Confirm { absent: 1, ..Confirm::default() };
        let settings = PollSettings {
            interval: target.interval,
            object_may: target.object_may,
            settle: Duration::ZERO,
            create_shows_within: Duration::ZERO,
            corrects: true,
            actions: Actions::NONE,
            settles_edits: false,
            confirm,
            keeps_requests: false,
            ready: false,
            shared_phase: None,
        };
        let state = ObjectState::new(object, rendered, std::sync::Arc::new(settings), Arrival::Later, at(0));
        Self { target, whole, state, version: 1 }
    }

    /// Makes a poll with this finding.
    fn poll(&mut self, seconds: u64, finding: Finding, address: Option<Value>) {
        let begun = self.state.begin_poll(at(seconds));
        let published = address.map(|address| [("address", address)].into_iter().collect()).unwrap_or_default();
        self.state.finish_poll(begun, Found { published: Some(published), ..finding.into() }, at(seconds).moment);
    }

    /// Writes the pending fields and returns them. `kept` returns the part that the API server stores.
    fn write(&mut self, seconds: u64, kept: impl FnOnce(Value) -> Value) -> Option<Value> {
        let update = self.state.begin_write(at(seconds).moment, "2026-01-01T00:00:00Z")?;
        let before = self.whole["status"].clone();
        json_patch::patch(&mut self.whole, &update.patch).unwrap();
        self.whole["status"] = kept(self.whole["status"].clone());
        self.show(seconds);
        self.state.finish_write(&WriteOutcome::Written, at(seconds).moment);
        Some(json!([before["address"], self.whole["status"]["address"]]))
    }

    /// Tries the pending write against a schema that accepts only text in that field. Returns the sent value, and true
    /// if it was written.
    fn try_write(&mut self, seconds: u64) -> Option<(Value, bool)> {
        let update = self.state.begin_write(at(seconds).moment, "2026-01-01T00:00:00Z")?;
        let operations = serde_json::to_value(&update.patch).unwrap();
        let is_address = |operation: &&Value| operation["path"] == "/status/address";
        let sent =
            operations.as_array().unwrap().iter().find(is_address).map_or(Value::Null, |one| one["value"].clone());
        let refusal = Refusal { sentence: "no".to_owned(), word: UnwrittenWord::WriteRefused };
        let is_valid = sent.is_null() || sent.is_string();
        let outcome = if is_valid { WriteOutcome::Written } else { WriteOutcome::Refused(refusal) };
        if is_valid {
            json_patch::patch(&mut self.whole, &update.patch).unwrap();
            self.show(seconds);
        }
        self.state.finish_write(&outcome, at(seconds).moment);
        Some((sent, is_valid))
    }

    fn show(&mut self, seconds: u64) {
        self.version += 1;
        self.whole["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let object = LeanObject::prune(&self.whole, &self.target.poll_fields);
        let rendered = appraise(&self.target, &object);
        self.state.see(object, rendered, at(seconds).moment);
    }
}

#[test]
fn a_field_is_written_on_change_and_never_again() {
    let mut object = Published::new();
    object.poll(1, Finding::InSync, Some(json!("a")));
    assert_eq!(object.write(1, |status| status), Some(json!([null, "a"])));
    assert_eq!(object.whole["status"]["phase"], "Up", "other fields stay");
    for seconds in [30, 60, 90] {
        object.poll(seconds, Finding::InSync, Some(json!("a")));
        assert_eq!(object.write(seconds, |status| status), None, "after {seconds} s");
    }
    object.poll(120, Finding::InSync, Some(json!("b")));
    assert_eq!(object.write(120, |status| status), Some(json!(["a", "b"])));
    assert!(!object.state.wants_prompt_poll(), "our own write is no edit");
}

#[test]
fn a_field_stays_while_unknown_and_goes_when_absent() {
    let mut object = Published::new();
    object.poll(1, Finding::InSync, Some(json!("a")));
    object.write(1, |status| status);
    for seconds in [30, 60, 90] {
        object.poll(seconds, ObservedReason::PollTimedOut.into(), None);
    }
    assert_eq!(object.write(90, |status| status), Some(json!(["a", "a"])), "Unknown is written, the field stays");
    object.poll(120, Finding::Absent, Some(Value::Null));
    assert_eq!(object.write(120, |status| status), Some(json!(["a", null])));
    assert_eq!(object.whole["status"].get("address"), None);
}

#[test]
fn a_value_that_always_moves_is_written_once_a_minute() {
    let mut object = Published::new();
    let mut written = 0;
    for seconds in 1..=600 {
        object.poll(seconds, Finding::InSync, Some(json!(seconds)));
        written += usize::from(object.write(seconds, |status| status).is_some());
    }
    // One with the first verdict, the burst of six, and one for each minute after.
    assert!((16..=17).contains(&written), "{written} writes");
}

#[test]
fn what_the_api_server_drops_is_not_written_for_ever() {
    let mut object = Published::new();
    object.poll(1, Finding::InSync, Some(json!({"ip": "a", "undeclared": 1})));
    let drop = |mut status: Value| {
        status["address"].as_object_mut().unwrap().remove("undeclared");
        status
    };
    assert_eq!(object.write(1, drop), Some(json!([null, {"ip": "a"}])));
    object.poll(30, Finding::InSync, Some(json!({"ip": "a", "undeclared": 1})));
    assert_eq!(object.write(30, drop), None);
    object.poll(60, Finding::InSync, Some(json!({"ip": "b", "undeclared": 1})));
    assert_eq!(object.write(60, drop), Some(json!([{"ip": "a"}, {"ip": "b"}])));
}

#[test]
fn another_hand_on_a_field_is_put_right() {
    let mut object = Published::new();
    object.poll(1, Finding::InSync, Some(json!("a")));
    object.write(1, |status| status);
    object.whole["status"]["address"] = json!("forged");
    object.show(2);
    assert!(object.state.wants_prompt_poll());
    assert_eq!(object.write(2, |status| status), Some(json!(["forged", "a"])));
}

#[test]
fn a_refused_value_holds_up_no_verdict() {
    let drift = || Finding::Differs("x".into());
    let cases: [Case; 2] = [("one value", |_| json!(7)), ("another with each poll", |seconds| json!(seconds))];
    for (case, value) in cases {
        let mut object = Published::new();
        object.poll(1, Finding::InSync, Some(json!("a")));
        assert_eq!(object.try_write(1), Some((json!("a"), true)), "{case}");
        for (second, finding) in [(30, drift()), (31, Finding::InSync), (32, drift())] {
            object.poll(second, finding, Some(value(second)));
            let tries: Vec<_> = std::iter::from_fn(|| object.try_write(second)).take(9).collect();
            assert_eq!(tries.iter().filter(|(_, written)| *written).count(), 1, "{case}, {second} s: {tries:?}");
            assert!(tries.len() <= 3, "{case}, {second} s: {tries:?}");
        }
        assert_eq!(object.whole["status"]["conditions"][0]["status"], "True", "{case}");
        assert_eq!(object.whole["status"]["address"], "a", "{case}");
    }
}

#[test]
fn a_refused_field_is_tried_again_ever_more_rarely() {
    let mut object = Published::new();
    object.poll(1, Finding::InSync, Some(json!(7)));
    let mut refused = 0;
    for seconds in 1..=1000 {
        refused += std::iter::from_fn(|| object.try_write(seconds)).filter(|(_, written)| !written).count();
    }
    assert!((8..=11).contains(&refused), "{refused} refusals");
    object.poll(1001, Finding::InSync, Some(json!("a")));
    assert_eq!((1001..=1301).find_map(|seconds| object.try_write(seconds)), Some((json!("a"), true)));
}

#[test]
fn a_verdict_that_alternates_is_written_seldom() {
    let mut published = Published::new();
    let mut second = 0;
    let mut find = |finding: Finding| {
        second += 30;
        published.poll(second, finding, None);
        published.write(second, |status| status).is_some()
    };
    let differs = || Finding::Differs("x".into());
    let finding = |round: usize| if round.is_multiple_of(2) { Finding::InSync } else { differs() };
    let written = (0..240).filter(|round| find(finding(*round))).count();
    // Six changes are normal, and a few more pass until the normal pace is exceeded.
    assert!((6..=16).contains(&written), "{written} writes in 240 polls");
    let again = (240..480).filter(|round| find(finding(*round))).count();
    assert_eq!(again, 0, "it still flaps");
    // A stable finding is confirmed all the same.
    for _ in 0..3 {
        find(Finding::InSync);
    }
    let written: Vec<_> = (0..4).map(|_| find(differs())).collect();
    assert_eq!(written, [false, false, true, false]);
    assert!(find(Finding::InSync), "a correction acts on drift, so its end is not confirmed");
}
