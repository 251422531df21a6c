//! What is told of an execution in the log, in the metrics and as Events.
//!
//! It must not know what is done next.

use std::fmt::Display;

use super::Run;
use crate::engine::execution::ExecutionEnd;
use crate::run::metrics::CorrectionLabels;

impl Run<'_> {
    /// Why a correction cannot be sent: each cause once, since it is tried again and again until somebody mends it.
    pub(super) fn tell_unsendable(&mut self, why: impl Display) {
        let (target_name, id, why) = (&self.executor.target.name, &self.object.id, why.to_string());
        let is_news = self.executor.told_causes.is_news(&id.uid, &why);
        if is_news {
            tracing::warn!(target_name, object = %id, "not corrected: {why}");
        } else {
            tracing::debug!(target_name, object = %id, "not corrected: {why}");
        }
        self.tells_nothing_new = !is_news;
    }

    pub(super) fn count(&self, end: &ExecutionEnd) {
        let ExecutionEnd::Corrected { correction, outcome, .. } = end else { return };
        if !outcome.sent_nothing() {
            self.executor.told_causes.forget(&self.object.id.uid);
        }
        if !self.tells_nothing_new {
            self.log(outcome.as_text(), Some(outcome.as_label()));
        }
        let labels = CorrectionLabels {
            target: self.executor.target.name.clone(),
            action: correction.action.as_str(),
            outcome: outcome.as_label(),
        };
        self.executor.metrics.corrections.get_or_create(&labels).inc();
    }

    pub(super) fn log(&self, what: &str, outcome: Option<&str>) {
        let Some(correction) = &self.correction else { return };
        tracing::info!(
            target_name = self.executor.target.name,
            object = %self.object.id,
            action = correction.action.as_str(),
            correction = correction.number,
            outcome,
            "{what}"
        );
    }
}
