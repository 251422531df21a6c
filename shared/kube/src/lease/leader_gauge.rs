//! The metric `drift_leader`, which is read from the Lease's state with each scrape.

use std::fmt;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::lease::leadership::Leadership;

/// Registers the metric for the Lease of this program.
pub fn show_leader(registry: &mut Registry, leadership: Leadership) {
    let help = "1 if this replica holds the program's Lease and does the work, 0 if it is on standby";
    registry.register("leader", help, LeaderGauge(leadership));
}

#[derive(Debug)]
struct LeaderGauge(Leadership);

impl EncodeMetric for LeaderGauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&i64::from(self.0.is_held()))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}
