//! What is told of an execution in the log and in the metrics.
//!
//! It must not know what is done next.

use std::fmt::Display;

use drift_model::condition::CorrectedReason;

use super::Run;
use crate::core::execution::ExecutionEnd;
use crate::metrics::CorrectionLabels;

impl Run<'_> {
    /// Why a correction cannot be sent: once, since it is tried again and again until somebody mends it.
    pub(super) fn tell_unsendable(&self, why: impl Display) {
        let (target_name, object) = (&self.executor.target.name, self.execution.object());
        if self.is_told() {
            tracing::debug!(target_name, object = %object.id, "not corrected: {why}");
        } else {
            tracing::warn!(target_name, object = %object.id, "not corrected: {why}");
        }
    }

    pub(super) fn count(&self, end: &ExecutionEnd) {
        let ExecutionEnd::Corrected { correction, outcome, .. } = end else { return };
        if !(outcome.sent_nothing() && self.is_told()) {
            self.log(outcome.as_text(), Some(outcome.as_label()));
        }
        let labels = CorrectionLabels {
            target: self.executor.target.name.clone(),
            action: correction.action.as_str(),
            outcome: outcome.as_label(),
        };
        self.executor.metrics.corrections.get_or_create(&labels).inc();
    }

    /// Whether the object said before this correction that it fails.
    fn is_told(&self) -> bool {
        let said = self.execution.correction().map(|correction| correction.before.reason);
        said == Some(Some(CorrectedReason::CorrectionFailed))
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
