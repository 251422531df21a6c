//! Reports of an execution: log lines, metrics, and each cause that blocks the correction of an object.
//!
//! A cause is reported once for each object, until another cause replaces it, because a correction that cannot be sent
//! is retried every half minute. The condition names only the kind of the cause, and may be from an earlier failure.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Display;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_api::identity::Uid;

use super::Run;
use crate::engine::execution::ExecutionEnd;
use crate::run::metrics::CorrectionLabels;

/// Last reported causes, by object. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ReportedCauses(Arc<Mutex<HashMap<Uid, u64>>>);

impl ReportedCauses {
    /// Records a cause. Returns true if it differs from the last reported one.
    #[must_use]
    pub fn is_news(&self, object: &Uid, cause: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        cause.hash(&mut hasher);
        let cause = hasher.finish();
        self.lock().insert(object.clone(), cause) != Some(cause)
    }

    /// Forgets an object that was corrected or is gone, so that its next cause is reported.
    pub fn forget(&self, object: &Uid) {
        self.lock().remove(object);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uid, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Run<'_> {
    /// Logs why a correction cannot be sent. A repeated cause is logged at debug level.
    pub(super) fn tell_unsendable(&mut self, why: impl Display) {
        let (target_name, id, why) = (&self.executor.target.name, &self.object.id, why.to_string());
        let is_news = self.executor.reported_causes.is_news(&id.uid, &why);
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
            self.executor.reported_causes.forget(&self.object.id.uid);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_reported_once() {
        let (reported, [one, other]) = (ReportedCauses::default(), ["a", "b"].map(Uid::from));
        assert!(reported.is_news(&one, "no Secret x") && !reported.is_news(&one, "no Secret x"));
        assert!(reported.is_news(&other, "no Secret x"), "each object has its own");
        assert!(reported.is_news(&one, "Secret x has no key y"), "what was mended in part is another cause");
        assert!(reported.is_news(&one, "no Secret x"));
        reported.forget(&one);
        assert!(reported.is_news(&one, "no Secret x"), "it was corrected meanwhile");
        assert!(!reported.is_news(&other, "no Secret x"));
    }
}
