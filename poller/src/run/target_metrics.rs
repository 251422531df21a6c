//! The metrics of one target.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use drift_api::condition::{Condition, ConditionStatus, ObservedReason};
use drift_language::Mode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::engine::object::deletion::DELETING;
use crate::engine::object::object_state::ObjectState;
use crate::engine::schedule::Now;
use crate::run::metrics::{Metrics, of_mode, of_outcome, of_reason, of_target};

/// Results of a poll that read the external system.
const SUCCESSES: [&str; 3] = ["InSync", "Differs", "Absent"];

/// The metrics of one target.
#[derive(Debug)]
pub struct TargetCounts {
    target: String,
    metrics: Metrics,
    /// Polls by result, looked up once because every poll is counted.
    polls: HashMap<&'static str, Counter>,
    poll_seconds: Option<Histogram>,
    last_success: Option<Gauge>,
    reasons: BTreeMap<String, i64>,
    /// The mode that the metrics show.
    mode: Option<Mode>,
}

impl TargetCounts {
    /// Metrics for the target of this name.
    #[must_use]
    pub fn new(target: &str, metrics: Metrics) -> Self {
        Self {
            target: target.to_owned(),
            metrics,
            polls: HashMap::new(),
            poll_seconds: None,
            last_success: None,
            reasons: BTreeMap::new(),
            mode: None,
        }
    }

    /// Shows what rules and panels need from the target's text: its mode and its interval.
    pub fn describe(&mut self, mode: Mode, interval: Duration) {
        self.metrics.target_info.get_or_create(&of_mode(&self.target, mode)).set(1);
        self.metrics.interval.get_or_create(&of_target(&self.target)).set(interval.as_secs_f64());
        self.mode = Some(mode);
    }

    /// Counts a poll with its result.
    pub fn poll(&mut self, result: &'static str, took: Duration, wall: Duration) {
        let counter = || self.metrics.polls.get_or_create_owned(&of_outcome(&self.target, result));
        self.polls.entry(result).or_insert_with(counter).inc();
        let histogram = || self.metrics.poll_seconds.get_or_create_owned(&of_target(&self.target));
        self.poll_seconds.get_or_insert_with(histogram).observe(took.as_secs_f64());
        if SUCCESSES.contains(&result) {
            let last_success = || self.metrics.last_success.get_or_create_owned(&of_target(&self.target));
            self.last_success.get_or_insert_with(last_success).set(signed_seconds(wall));
        }
    }

    /// Counts a write by its outcome.
    pub fn write(&self, outcome: &str) {
        self.metrics.writes.get_or_create(&of_outcome(&self.target, outcome)).inc();
    }

    /// Counts the duration of a drift that this verdict ends.
    pub fn verdict(&self, before: Option<&Condition>, after: &Condition) {
        if let Some(duration) = before.and_then(|before| drift_duration(before, after)) {
            self.metrics.drift_seconds.get_or_create(&of_target(&self.target)).observe(duration.as_secs_f64());
        }
    }

    /// Counts a hint by its outcome.
    pub fn hint(&self, outcome: &str) {
        self.metrics.hints.get_or_create(&of_outcome(&self.target, outcome)).inc();
    }

    /// Counts the objects by reason and those that flap, and measures the oldest drift, the latest poll and the oldest
    /// verdict.
    ///
    /// If the target `corrects`, an object whose resource another object owns counts by that reason and not by its verdict.
    /// Otherwise such a record is outdated.
    pub fn count<'a>(&mut self, states: impl Iterator<Item = &'a ObjectState>, corrects: bool, now: Now) {
        self.reasons.values_mut().for_each(|count| *count = 0);
        let (mut flapping, mut lateness, mut oldest, mut verdict_age) = (0, Duration::ZERO, 0, 0.0_f64);
        let wall = signed_seconds(now.wall);
        for state in states {
            flapping += i64::from(state.is_flapping(now.moment));
            lateness = lateness.max(state.poll_due().map_or(Duration::ZERO, |due| now.moment - due));
            verdict_age = verdict_age.max(state.verdict_age(now.moment).unwrap_or_default());
            let conditions = &state.object().conditions;
            let reason = match conditions.held_by_another().filter(|_| corrects) {
                Some(reason) => reason.as_str(),
                // Its condition is outdated: nothing is compared any more.
                None if state.object().deleting => DELETING,
                None => {
                    let began = conditions.observed().and_then(drift_began);
                    oldest = oldest.max(began.map_or(0, |began| wall.saturating_sub(began)));
                    conditions.observed().map_or("None", |condition| &*condition.reason)
                }
            };
            match self.reasons.get_mut(reason) {
                Some(count) => *count += 1,
                None => {
                    self.reasons.insert(reason.to_owned(), 1);
                }
            }
        }
        for (reason, count) in &self.reasons {
            self.metrics.objects.get_or_create(&of_reason(&self.target, reason)).set(*count);
        }
        self.metrics.flapping.get_or_create(&of_target(&self.target)).set(flapping);
        self.metrics.lateness.get_or_create(&of_target(&self.target)).set(lateness.as_secs_f64());
        self.metrics.verdict_age.get_or_create(&of_target(&self.target)).set(verdict_age);
        self.metrics.oldest_drift.get_or_create(&of_target(&self.target)).set(oldest);
    }
}

/// Returns the time at which an object drifted, in seconds since 1970, if this condition reports that it was in sync before.
fn drift_began(condition: &Condition) -> Option<i64> {
    let is_drift = ObservedReason::parse(&condition.reason).is_some_and(ObservedReason::is_incident);
    is_drift.then(|| condition.last_transition_time.second()).flatten()
}

/// Returns how long a drift lasted that the second condition ends. If the verdict was Unknown in between, nothing is known.
fn drift_duration(before: &Condition, after: &Condition) -> Option<Duration> {
    let began = drift_began(before).filter(|_| after.status == ConditionStatus::False)?;
    let seconds = after.last_transition_time.second()? - began;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}

fn signed_seconds(since_epoch: Duration) -> i64 {
    i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX)
}

impl Drop for TargetCounts {
    fn drop(&mut self) {
        for reason in self.reasons.keys() {
            self.metrics.objects.remove(&of_reason(&self.target, reason));
        }
        if let Some(mode) = self.mode {
            self.metrics.target_info.remove(&of_mode(&self.target, mode));
        }
        self.metrics.interval.remove(&of_target(&self.target));
        self.metrics.verdict_age.remove(&of_target(&self.target));
        self.metrics.oldest_drift.remove(&of_target(&self.target));
        self.metrics.last_success.remove(&of_target(&self.target));
        self.metrics.flapping.remove(&of_target(&self.target));
        self.metrics.lateness.remove(&of_target(&self.target));
        self.metrics.skipped.remove(&of_target(&self.target));
        self.metrics.hints_connected.remove(&of_target(&self.target));
        self.metrics.unnamed.remove(&of_target(&self.target));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use ObservedReason::{ExternalMissing, FieldsDiffer, InSync, NotCreated, PollTimedOut};
    use drift_api::condition::ConditionKind;
    use drift_api::names;
    use prometheus_client::registry::Registry;
    use serde_json::{Value, json};

    use super::*;
    use crate::engine::fixtures::{TEXT, at, object, target};
    use crate::engine::judgement::finding::Finding;
    use crate::engine::object::object_store::ObjectStore;

    #[test]
    fn the_oldest_waiting_poll_says_how_late_polls_are() {
        let target = target(TEXT);
        let mut objects = ObjectStore::new(target.clone());
        for (uid, second) in [("first", 10), ("second", 15)] {
            objects.see(object(&target, uid, &json!({"id": uid, "a": 1}), &json!({})), at(second));
        }
        let metrics = Metrics::register(&mut Registry::default());
        let mut counts = TargetCounts::new("t", metrics.clone());
        let lateness = || metrics.lateness.get_or_create(&of_target("t")).get();
        counts.count(objects.states(), false, at(22));
        assert_eq!(lateness(), 12.0);
        objects.update(&"first".into(), at(23).moment, |state| state.begin_poll(at(23)));
        counts.count(objects.states(), false, at(23));
        assert_eq!(lateness(), 8.0);
    }

    #[test]
    fn the_oldest_verdict_counts_in_intervals_of_its_object() {
        let target = target(TEXT);
        let interval = target.interval;
        let mut objects = ObjectStore::new(target.clone());
        for (uid, second) in [("first", 10), ("second", 25)] {
            objects.see(object(&target, uid, &json!({"id": uid, "a": 1}), &json!({})), at(second));
        }
        let metrics = Metrics::register(&mut Registry::default());
        let mut counts = TargetCounts::new("t", metrics.clone());
        let mut age = |objects: &ObjectStore, second| {
            counts.count(objects.states(), false, at(second));
            metrics.verdict_age.get_or_create(&of_target("t")).get() * interval.as_secs_f64()
        };
        assert_eq!(age(&objects, 40), 30.0);
        let begun = objects.update(&"first".into(), at(41).moment, |state| state.begin_poll(at(41))).unwrap();
        assert_eq!(age(&objects, 43), 33.0, "a running poll has no result");
        objects
            .update(&"first".into(), at(44).moment, |state| state.finish_poll(begun, Finding::InSync, at(44).moment));
        assert_eq!(age(&objects, 45), 20.0, "the second one is the oldest now");
    }

    #[test]
    fn gauges_of_a_target_go_with_it() {
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry);
        metrics.skipped.get_or_create(&of_target("t")).set(3);
        metrics.last_success.get_or_create(&of_target("t")).set(3);
        let mut counts = TargetCounts::new("t", metrics);
        counts.count(std::iter::empty(), true, at(0));
        counts.describe(Mode::Approve, Duration::from_secs(30));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.contains("poller_target_info{target=\"t\",mode=\"Approve\"} 1"), "{text}");
        assert!(text.contains("poller_interval_seconds{target=\"t\"} 30.0"), "{text}");
        drop(counts);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(!text.contains("target=\"t\""), "{text}");
    }

    fn condition(reason: ObservedReason, second: u64) -> Value {
        json!({
            "type": names::DRIFT_OBSERVED,
            "status": reason.status().as_str(),
            "reason": reason.as_str(),
            "lastTransitionTime": at(second).date(),
        })
    }

    #[test]
    fn the_oldest_drift_has_an_age() {
        let target = target(TEXT);
        let metrics = Metrics::register(&mut Registry::default());
        let mut counts = TargetCounts::new("t", metrics.clone());
        let age = |reasons: &[(ObservedReason, u64)], counts: &mut TargetCounts| {
            let mut objects = ObjectStore::new(target.clone());
            for (uid, (reason, second)) in ["a", "b", "c"].iter().zip(reasons) {
                let status = json!({"conditions": [condition(*reason, *second)]});
                objects.see(object(&target, uid, &json!({"id": uid, "a": 1}), &status), at(60));
            }
            counts.count(objects.states(), true, at(100));
            metrics.oldest_drift.get_or_create(&of_target("t")).get()
        };
        let table = [
            (vec![(FieldsDiffer, 70), (ExternalMissing, 40), (InSync, 10)], 60),
            (vec![(FieldsDiffer, 70), (NotCreated, 1), (PollTimedOut, 2)], 30),
            (vec![(FieldsDiffer, 170)], 0),
            (vec![(InSync, 1)], 0),
            (vec![], 0),
        ];
        for (reasons, expected) in table {
            assert_eq!(age(&reasons, &mut counts), expected, "{reasons:?}");
        }
    }

    #[test]
    fn only_drift_that_was_seen_to_end_has_a_duration() {
        let table = [
            ((FieldsDiffer, 10), (InSync, 17), Some(7)),
            ((ExternalMissing, 10), (InSync, 10), Some(0)),
            ((ExternalMissing, 10), (InSync, 9), Some(0)),
            ((FieldsDiffer, 10), (ExternalMissing, 10), None),
            ((FieldsDiffer, 10), (PollTimedOut, 17), None),
            ((PollTimedOut, 10), (InSync, 17), None),
            ((NotCreated, 10), (InSync, 17), None),
        ];
        for ((before, began), (after, ended), expected) in table {
            let read = |reason, second| Condition::from_json(ConditionKind::Observed, &condition(reason, second));
            let duration = drift_duration(&read(before, began), &read(after, ended));
            assert_eq!(duration, expected.map(Duration::from_secs), "{before} to {after}");
        }
    }

    #[test]
    fn only_a_poll_that_read_something_is_a_success() {
        let metrics = Metrics::register(&mut Registry::default());
        let mut counts = TargetCounts::new("t", metrics.clone());
        let steps =
            [("InSync", 1, 1), ("PollTimedOut", 2, 1), ("Absent", 3, 3), ("Unauthorized", 4, 3), ("Differs", 5, 5)];
        for (result, second, last_success) in steps {
            counts.poll(result, Duration::ZERO, at(second).wall);
            let shown = metrics.last_success.get_or_create(&of_target("t")).get();
            assert_eq!(shown, signed_seconds(at(last_success).wall), "{result}");
        }
    }
}
