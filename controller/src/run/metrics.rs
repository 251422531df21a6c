//! The metrics of the controller.
//!
//! Labels hold targets, actions and closed words, never objects, hosts or values: their number stays bounded.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Label set of a count for one target.
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
    /// `applied`, `refused`, or why it is in doubt.
    pub outcome: &'static str,
}

/// Label set of objects for which nothing is done.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct HeldLabels {
    /// The target's name.
    pub target: String,
    /// Why, one of a closed set.
    pub why: &'static str,
}

/// Label set of writes to the API server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WriteLabels {
    /// `note`, `note_removal`, `finalizer` or `finalizer_release`.
    pub kind: &'static str,
    /// `written`, `moved`, `gone`, `refused` or `unavailable`.
    pub outcome: &'static str,
}

/// The controller's metrics.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// Corrections by what they came to.
    pub corrections: Family<CorrectionLabels, Counter>,
    /// Objects for which nothing is done now, by why.
    pub held: Family<HeldLabels, Gauge>,
    /// Writes to objects.
    pub writes: Family<WriteLabels, Counter>,
    /// Objects that are being deleted and keep our finalizer.
    pub objects_deleting: Family<TargetLabels, Gauge>,
    /// How long the one of these has been deleted that waits the longest, in seconds; 0 without any.
    pub deletion_age: Family<TargetLabels, Gauge>,
    /// 1 while the breaker of the target is open.
    pub breaker_open: Family<TargetLabels, Gauge>,
    /// 1 while the poller attests the target's verdicts.
    pub attested: Family<TargetLabels, Gauge>,
}

impl Metrics {
    /// Registers everything.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let ours = registry.sub_registry_with_prefix("controller");
        ours.register("corrections", "Corrections by what they came to", metrics.corrections.clone());
        ours.register("held", "Objects for which nothing is done now, by why", metrics.held.clone());
        ours.register("writes", "Writes to objects by outcome", metrics.writes.clone());
        let deleting = "Objects that are being deleted and keep our finalizer";
        ours.register("objects_deleting", deleting, metrics.objects_deleting.clone());
        let age = "How long ago the deletion of an object that keeps our finalizer was asked for, the oldest";
        ours.register("deletion_age_seconds", age, metrics.deletion_age.clone());
        ours.register("breaker_open", "1 while the target's breaker is open", metrics.breaker_open.clone());
        ours.register("attested", "1 while the poller attests the target", metrics.attested.clone());
        metrics
    }
}

/// Labels of a target.
#[must_use]
pub fn of_target(target: &str) -> TargetLabels {
    TargetLabels { target: target.to_owned() }
}
