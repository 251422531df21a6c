//! The metrics of the controller.
//!
//! Labels hold targets, actions and fixed words, never objects, hosts or values, so the number of series stays bounded.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds in seconds: from one fast request to a Job that runs for an hour.
const CORRECTION_BUCKETS: [f64; 8] = [0.1, 0.5, 2.0, 5.0, 15.0, 60.0, 300.0, 3600.0];

/// Upper bounds in seconds: a settle time lasts seconds, a wait for a person lasts hours to days.
const HELD_BUCKETS: [f64; 7] = [10.0, 60.0, 600.0, 3600.0, 21_600.0, 86_400.0, 604_800.0];

/// Label set of a metric for one target.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TargetLabels {
    /// The target's name.
    pub target: String,
}

/// Label set of corrections.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CorrectionLabels {
    /// The target's name.
    pub target: String,
    /// `create`, `update` or `delete`.
    pub action: &'static str,
    /// `applied`, `refused`, or the reason why the result is unknown.
    pub outcome: &'static str,
}

/// Label set of objects that are not corrected.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct HeldLabels {
    /// The target's name.
    pub target: String,
    /// The reason, one of a fixed set of words.
    pub why: &'static str,
}

/// Label set of the time that objects were held. Without the target, because each reason has ten series.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WhyLabels {
    /// The reason, one of a fixed set of words.
    pub why: &'static str,
}

/// Label set of writes to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WriteLabels {
    /// The kind of write: `note`, `note_removal`, `finalizer` or `finalizer_release`.
    pub kind: &'static str,
    /// `written`, `moved`, `gone`, `refused` or `unavailable`.
    pub outcome: &'static str,
}

/// The controller's metrics.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Corrections by action and outcome.
    pub corrections: Family<CorrectionLabels, Counter>,
    /// Seconds from the first request of a correction to its end.
    pub correction_seconds: Family<TargetLabels, Histogram>,
    /// Objects that are not corrected now, by reason.
    pub held: Family<HeldLabels, Gauge>,
    /// Seconds that a reason held an object, once that ends.
    pub held_seconds: Family<WhyLabels, Histogram>,
    /// Writes to objects by kind and outcome.
    pub writes: Family<WriteLabels, Counter>,
    /// Objects in deletion that keep the controller's finalizer.
    pub objects_deleting: Family<TargetLabels, Gauge>,
    /// Age in seconds of the oldest of these deletions, without closed windows; 0 without any.
    pub deletion_age: Family<TargetLabels, Gauge>,
    /// 1 while the target's breaker is open.
    pub breaker_open: Family<TargetLabels, Gauge>,
    /// 1 while the poller attests the target's verdicts.
    pub attested: Family<TargetLabels, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            corrections: Family::default(),
            correction_seconds: Family::new_with_constructor(|| Histogram::new(CORRECTION_BUCKETS)),
            held: Family::default(),
            held_seconds: Family::new_with_constructor(|| Histogram::new(HELD_BUCKETS)),
            writes: Family::default(),
            objects_deleting: Family::default(),
            deletion_age: Family::default(),
            breaker_open: Family::default(),
            attested: Family::default(),
        }
    }
}

impl Metrics {
    /// Registers every metric of the controller.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let ours = registry.sub_registry_with_prefix("controller");
        metrics.register_corrections(ours);
        ours.register(
            "writes",
            "Writes of records and finalizers to objects, by kind and outcome",
            metrics.writes.clone(),
        );
        let deleting = "Objects in deletion that keep the controller's finalizer";
        ours.register("objects_deleting", deleting, metrics.objects_deleting.clone());
        let age = "Age of the oldest deletion that the controller's finalizer holds, 0 without any";
        ours.register("deletion_age_seconds", age, metrics.deletion_age.clone());
        ours.register(
            "breaker_open",
            "1 while the target's breaker is open, so that corrections are stopped",
            metrics.breaker_open.clone(),
        );
        ours.register(
            "attested",
            "1 while the controller sees that the poller attests the target",
            metrics.attested.clone(),
        );
        metrics
    }

    fn register_corrections(&self, ours: &mut Registry) {
        ours.register("corrections", "Corrections by action and outcome", self.corrections.clone());
        let help = "Time from the first request of a correction to its end";
        ours.register("correction_duration_seconds", help, self.correction_seconds.clone());
        ours.register("held", "Objects that are not corrected now, by reason", self.held.clone());
        let help = "Time that a reason kept an object from being corrected, counted when it ends";
        ours.register("held_duration_seconds", help, self.held_seconds.clone());
    }
}

/// Labels of a target.
#[must_use]
pub fn of_target(target: &str) -> TargetLabels {
    TargetLabels { target: target.to_owned() }
}
