//! What is told of an execution in the log and in the metrics.
//!
//! It must not know what is done next.

use super::Run;
use crate::core::execution::ExecutionEnd;
use crate::core::rendering::Unrenderable;
use crate::metrics::CorrectionLabels;

impl Run<'_> {
    pub(super) fn tell_unrenderable(&self, why: &Unrenderable) {
        let (target_name, object) = (&self.executor.target.name, self.execution.object());
        tracing::warn!(target_name, object = %object.id, "not corrected: {why}");
    }

    pub(super) fn count(&self, end: &ExecutionEnd) {
        let ExecutionEnd::Corrected { correction, outcome, .. } = end else { return };
        self.log("corrected", Some(outcome.as_label()));
        let labels = CorrectionLabels {
            target: self.executor.target.name.clone(),
            action: correction.action.as_str(),
            outcome: outcome.as_label(),
        };
        self.executor.metrics.corrections.get_or_create(&labels).inc();
    }

    pub(super) fn log(&self, what: &str, outcome: Option<&str>) {
        let Some(correction) = self.execution.correction() else { return };
        tracing::info!(
            target_name = self.executor.target.name,
            object = %self.execution.object().id,
            action = correction.action.as_str(),
            correction = correction.number,
            outcome,
            "{what}"
        );
    }
}
