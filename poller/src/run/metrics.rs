//! The metrics of the poller.
//!
//! Labels hold targets, reasons and statuses, never objects, hosts or values: their number stays bounded.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds in seconds: from a loopback answer to the longest usual timeout.
const DURATION_BUCKETS: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Label set of a count for one target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TargetLabels {
    /// The target's name.
    pub target: String,
}

/// Label set of a count for one target and one word.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabels {
    /// The target's name.
    pub target: String,
    /// A reason, a status or an outcome.
    pub outcome: String,
}

/// Label set of a count of requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StatusLabels {
    /// The HTTP status that they were answered with.
    pub status: u16,
}

/// The poller's metrics.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Polls by what they found: `InSync`, `Differs`, `Absent`, or the reason of a failure.
    pub polls: Family<OutcomeLabels, Counter>,
    /// Seconds from the begin of a poll to its finding.
    pub poll_seconds: Family<TargetLabels, Histogram>,
    /// Polls that were put off because their host is paused.
    pub polls_postponed: Family<TargetLabels, Counter>,
    /// Writes of the condition by how they ended: `written`, `moved`, `refused`, `unavailable`.
    pub writes: Family<OutcomeLabels, Counter>,
    /// Objects whose verdict lost five races against another writer.
    pub races_lost: Family<TargetLabels, Counter>,
    /// Hints from outside by what became of them: `polled`, `unknown`, `unreadable`, `dropped`.
    pub hints: Family<OutcomeLabels, Counter>,
    /// Requests that bring hints by how they were answered.
    pub hint_requests: Family<StatusLabels, Counter>,
    /// 1 while what is listened to or watched for hints is heard.
    pub hints_connected: Family<TargetLabels, Gauge>,
    /// Objects by the reason of the verdict that stands; `None` before the first.
    pub objects: Family<OutcomeLabels, Gauge>,
    /// Seconds that the poll which is late the longest is late by now.
    pub lateness: Family<TargetLabels, Gauge<f64, AtomicU64>>,
    /// Objects whose verdict goes back and forth.
    pub flapping: Family<TargetLabels, Gauge>,
    /// Objects that a target before this one by name selects too, and that are skipped here.
    pub skipped: Family<TargetLabels, Gauge>,
    /// Entries of a collection that belong to no object.
    pub unnamed: Family<TargetLabels, Gauge>,
    /// 1 while the poller attests the target's verdicts.
    pub attested: Family<TargetLabels, Gauge>,
}

impl Metrics {
    /// Registers everything.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            polls: Family::default(),
            poll_seconds: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            polls_postponed: Family::default(),
            writes: Family::default(),
            races_lost: Family::default(),
            hints: Family::default(),
            hint_requests: Family::default(),
            hints_connected: Family::default(),
            objects: Family::default(),
            lateness: Family::default(),
            flapping: Family::default(),
            skipped: Family::default(),
            unnamed: Family::default(),
            attested: Family::default(),
        };
        let ours = registry.sub_registry_with_prefix("poller");
        ours.register("polls", "Polls by finding", metrics.polls.clone());
        ours.register(
            "poll_duration_seconds",
            "Time from the begin of a poll to its finding",
            metrics.poll_seconds.clone(),
        );
        ours.register("polls_postponed", "Polls put off because their host is paused", metrics.polls_postponed.clone());
        ours.register("writes", "Writes of driftObserved by outcome", metrics.writes.clone());
        ours.register(
            "races_lost",
            "Verdicts given up after five lost races against another writer",
            metrics.races_lost.clone(),
        );
        ours.register("hints", "Hints from outside by what became of them", metrics.hints.clone());
        ours.register("hint_requests", "Requests that bring hints by their answer", metrics.hint_requests.clone());
        ours.register(
            "hints_connected",
            "1 while what the target listens to or watches for hints is heard",
            metrics.hints_connected.clone(),
        );
        ours.register("objects", "Objects by the reason of their current verdict", metrics.objects.clone());
        ours.register(
            "poll_lateness_seconds",
            "How late the poll is that waits the longest for its turn",
            metrics.lateness.clone(),
        );
        ours.register("objects_flapping", "Objects whose verdict goes back and forth", metrics.flapping.clone());
        ours.register("attested", "1 while the poller lists the target on its Lease", metrics.attested.clone());
        ours.register("objects_skipped", "Objects that another target owns", metrics.skipped.clone());
        ours.register(
            "collection_entries_unnamed",
            "Entries of a collection that belong to no object",
            metrics.unnamed.clone(),
        );
        metrics
    }
}

/// Labels of a target.
#[must_use]
pub fn of_target(target: &str) -> TargetLabels {
    TargetLabels { target: target.to_owned() }
}

/// Labels of a target and an outcome.
#[must_use]
pub fn of_outcome(target: &str, outcome: &str) -> OutcomeLabels {
    OutcomeLabels { target: target.to_owned(), outcome: outcome.to_owned() }
}
