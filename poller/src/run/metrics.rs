//! The metrics of the poller.
//!
//! Labels hold targets, reasons and statuses, never objects, hosts or values, so the number of series stays bounded.

use std::sync::atomic::AtomicU64;

use drift_language::Mode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds in seconds: from an answer of the same network to the longest usual timeout. Above a second they are closer,
/// because a slow system shows there.
const DURATION_BUCKETS: [f64; 13] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0];

/// Upper bounds in seconds: a correction takes seconds, a person takes minutes to days.
const DRIFT_BUCKETS: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0, 86400.0];

/// Label set of a metric for one target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TargetLabels {
    /// The target's name.
    pub target: String,
}

/// Label set of a metric for one target and one outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabels {
    /// The target's name.
    pub target: String,
    /// The outcome of an operation.
    pub outcome: String,
}

/// Label set of a metric for one target and one reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReasonLabels {
    /// The target's name.
    pub target: String,
    /// The reason of a condition, written as there.
    pub reason: String,
}

/// Label set of the metric about the text of a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ModeLabels {
    /// The target's name.
    pub target: String,
    /// The value of `correct.mode`.
    pub mode: &'static str,
}

/// Label set of a metric for HTTP requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StatusLabels {
    /// The HTTP status of the answer.
    pub status: u16,
}

/// The poller's metrics.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Polls by result: `InSync`, `Differs`, `Absent`, or the reason of a failure.
    pub polls: Family<OutcomeLabels, Counter>,
    /// Seconds from the beginning of a poll to its result.
    pub poll_seconds: Family<TargetLabels, Histogram>,
    /// Polls that were postponed because their host is paused.
    pub polls_postponed: Family<TargetLabels, Counter>,
    /// Unix time of the last poll that found a state or an absence.
    pub last_success: Family<TargetLabels, Gauge>,
    /// Writes of the condition by outcome: `written`, `moved`, `gone`, `refused`, `unavailable`, `not_leading`.
    pub writes: Family<OutcomeLabels, Counter>,
    /// Verdicts that were given up after five lost races against another writer.
    pub races_lost: Family<TargetLabels, Counter>,
    /// Hints by outcome: `polled`, `unknown`, `unreadable`, `dropped`.
    pub hints: Family<OutcomeLabels, Counter>,
    /// HTTP requests that bring hints, by the status of their answer.
    pub hint_requests: Family<StatusLabels, Counter>,
    /// 1 while the target's source of hints is connected.
    pub hints_connected: Family<TargetLabels, Gauge>,
    /// Objects by the reason of their current verdict; `None` before the first.
    pub objects: Family<ReasonLabels, Gauge>,
    /// Age in seconds of the oldest drift; 0 without any.
    pub oldest_drift: Family<TargetLabels, Gauge>,
    /// Seconds from the verdict "drifted" to the verdict "in sync" of the same object.
    pub drift_seconds: Family<TargetLabels, Histogram>,
    /// Delay in seconds of the poll that waits longest for its turn.
    pub lateness: Family<TargetLabels, Gauge<f64, AtomicU64>>,
    /// Objects whose verdict alternates.
    pub flapping: Family<TargetLabels, Gauge>,
    /// Objects that another target owns (the first by name wins).
    pub skipped: Family<TargetLabels, Gauge>,
    /// Entries of a collection that belong to no object.
    pub unnamed: Family<TargetLabels, Gauge>,
    /// 1 while the poller attests the target's verdicts.
    pub attested: Family<TargetLabels, Gauge>,
    /// 1 for the mode of a target.
    pub target_info: Family<ModeLabels, Gauge>,
    /// Interval of the target's polls in seconds.
    pub interval: Family<TargetLabels, Gauge<f64, AtomicU64>>,
    /// Longest time since a poll of an object ended, in intervals of the object.
    pub verdict_age: Family<TargetLabels, Gauge<f64, AtomicU64>>,
}

impl Metrics {
    /// Registers every metric of the poller.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::unregistered();
        let ours = registry.sub_registry_with_prefix("poller");
        metrics.register_polls(ours);
        metrics.register_objects(ours);
        metrics
    }

    fn unregistered() -> Self {
        Self {
            polls: Family::default(),
            poll_seconds: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            polls_postponed: Family::default(),
            last_success: Family::default(),
            writes: Family::default(),
            races_lost: Family::default(),
            hints: Family::default(),
            hint_requests: Family::default(),
            hints_connected: Family::default(),
            objects: Family::default(),
            oldest_drift: Family::default(),
            drift_seconds: Family::new_with_constructor(|| Histogram::new(DRIFT_BUCKETS)),
            lateness: Family::default(),
            flapping: Family::default(),
            skipped: Family::default(),
            unnamed: Family::default(),
            attested: Family::default(),
            target_info: Family::default(),
            interval: Family::default(),
            verdict_age: Family::default(),
        }
    }

    fn register_polls(&self, ours: &mut Registry) {
        ours.register("polls", "Polls by result", self.polls.clone());
        let help = "Time from the beginning of a poll to its result";
        ours.register("poll_duration_seconds", help, self.poll_seconds.clone());
        let help = "Polls postponed because their host asked for a pause or does not answer";
        ours.register("polls_postponed", help, self.polls_postponed.clone());
        let help = "Unix time of the last poll that read the external system successfully";
        ours.register("last_success_timestamp_seconds", help, self.last_success.clone());
        let help = "Interval of the target's polls. An object may have a longer one";
        ours.register("interval_seconds", help, self.interval.clone());
        let help = "Longest time since a poll of an object ended, as a multiple of the object's interval";
        ours.register("oldest_verdict_age_ratio", help, self.verdict_age.clone());
        let help = "Delay of the poll that waits longest for its turn";
        ours.register("poll_lateness_seconds", help, self.lateness.clone());
        ours.register("hints", "Hints received from outside, by outcome", self.hints.clone());
        let help = "HTTP requests that bring hints, by the status of the answer";
        ours.register("hint_requests", help, self.hint_requests.clone());
        let help = "1 while the target's source of hints is connected, 0 while it is not";
        ours.register("hints_connected", help, self.hints_connected.clone());
        let help = "Entries of a collection that belong to no object";
        ours.register("collection_entries_unnamed", help, self.unnamed.clone());
    }

    fn register_objects(&self, ours: &mut Registry) {
        let help = "1 for each target that is polled, with its correct.mode";
        ours.register("target_info", help, self.target_info.clone());
        let help = "Objects by the reason of their current verdict, None before the first";
        ours.register("objects", help, self.objects.clone());
        let help = "Age of the oldest drift among the target's objects, 0 without drift";
        ours.register("oldest_drift_age_seconds", help, self.oldest_drift.clone());
        let help = "Time from seen drift until the object was seen in sync again";
        ours.register("drift_duration_seconds", help, self.drift_seconds.clone());
        ours.register("objects_flapping", "Objects whose verdict alternates", self.flapping.clone());
        ours.register("objects_skipped", "Objects that another target owns", self.skipped.clone());
        ours.register("writes", "Writes of the condition driftObserved, by outcome", self.writes.clone());
        let help = "Verdicts given up after five lost races against another writer";
        ours.register("races_lost", help, self.races_lost.clone());
        let help = "1 while the poller's Lease lists the target, so that it may be corrected";
        ours.register("attested", help, self.attested.clone());
    }
}

/// Labels of a target.
#[must_use]
pub fn of_target(target: &str) -> TargetLabels {
    TargetLabels { target: target.to_owned() }
}

/// Labels of a target and its mode.
#[must_use]
pub fn of_mode(target: &str, mode: Mode) -> ModeLabels {
    ModeLabels { target: target.to_owned(), mode: mode.as_str() }
}

/// Labels of a target and an outcome.
#[must_use]
pub fn of_outcome(target: &str, outcome: &str) -> OutcomeLabels {
    OutcomeLabels { target: target.to_owned(), outcome: outcome.to_owned() }
}

/// Labels of a target and a condition's reason.
#[must_use]
pub fn of_reason(target: &str, reason: &str) -> ReasonLabels {
    ReasonLabels { target: target.to_owned(), reason: reason.to_owned() }
}
