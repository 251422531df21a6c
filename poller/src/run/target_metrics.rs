//! Counts what one target does, for the metrics.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use drift_api::timing::moment::Moment;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use crate::engine::object::object_state::ObjectState;
use crate::run::metrics::{Metrics, of_outcome, of_target};

/// The counts of one target.
#[derive(Debug)]
pub struct TargetCounts {
    target: String,
    metrics: Metrics,
    /// By what they found: looked up once, since every poll is counted.
    polls: HashMap<&'static str, Counter>,
    poll_seconds: Option<Histogram>,
    reasons: BTreeMap<String, i64>,
}

impl TargetCounts {
    /// For the target of that name.
    #[must_use]
    pub fn new(target: &str, metrics: Metrics) -> Self {
        Self { target: target.to_owned(), metrics, polls: HashMap::new(), poll_seconds: None, reasons: BTreeMap::new() }
    }

    /// One poll ended with that finding.
    pub fn poll(&mut self, word: &'static str, took: Duration) {
        let counter = || self.metrics.polls.get_or_create_owned(&of_outcome(&self.target, word));
        self.polls.entry(word).or_insert_with(counter).inc();
        let histogram = || self.metrics.poll_seconds.get_or_create_owned(&of_target(&self.target));
        self.poll_seconds.get_or_insert_with(histogram).observe(took.as_secs_f64());
    }

    /// One write ended.
    pub fn write(&self, word: &str) {
        self.metrics.writes.get_or_create(&of_outcome(&self.target, word)).inc();
    }

    /// One hint came from outside.
    pub fn hint(&self, word: &str) {
        self.metrics.hints.get_or_create(&of_outcome(&self.target, word)).inc();
    }

    /// Counts the objects by the reason that stands on them, those that flap, and how late polls are.
    ///
    /// What another object has is counted as that, and not by its verdict, where the target `corrects`: elsewhere the
    /// record is of before.
    pub fn count<'a>(&mut self, states: impl Iterator<Item = &'a ObjectState>, corrects: bool, now: Moment) {
        self.reasons.values_mut().for_each(|count| *count = 0);
        let mut flapping = 0;
        let mut lateness = Duration::ZERO;
        for state in states {
            flapping += i64::from(state.is_flapping(now));
            lateness = lateness.max(state.poll_due().map_or(Duration::ZERO, |due| now - due));
            let conditions = &state.object().conditions;
            let reason = match conditions.held_by_another().filter(|_| corrects) {
                Some(reason) => reason.as_str(),
                None => conditions.observed().map_or("None", |condition| &*condition.reason),
            };
            match self.reasons.get_mut(reason) {
                Some(count) => *count += 1,
                None => {
                    self.reasons.insert(reason.to_owned(), 1);
                }
            }
        }
        for (reason, count) in &self.reasons {
            self.metrics.objects.get_or_create(&of_outcome(&self.target, reason)).set(*count);
        }
        self.metrics.flapping.get_or_create(&of_target(&self.target)).set(flapping);
        self.metrics.lateness.get_or_create(&of_target(&self.target)).set(lateness.as_secs_f64());
    }
}

impl Drop for TargetCounts {
    fn drop(&mut self) {
        for reason in self.reasons.keys() {
            self.metrics.objects.remove(&of_outcome(&self.target, reason));
        }
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
    use prometheus_client::registry::Registry;
    use serde_json::json;

    use super::*;
    use crate::engine::fixtures::{TEXT, at, object, target};
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
        counts.count(objects.states(), false, at(22).moment);
        assert_eq!(lateness(), 12.0);
        objects.update(&"first".into(), at(23).moment, |state| state.begin_poll(at(23)));
        counts.count(objects.states(), false, at(23).moment);
        assert_eq!(lateness(), 8.0);
    }

    #[test]
    fn what_is_counted_of_a_target_goes_with_it() {
        let mut registry = Registry::default();
        let metrics = Metrics::register(&mut registry);
        metrics.skipped.get_or_create(&of_target("t")).set(3);
        let mut counts = TargetCounts::new("t", metrics);
        counts.count(std::iter::empty(), true, at(0).moment);
        drop(counts);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(!text.contains("target=\"t\""), "{text}");
    }
}
