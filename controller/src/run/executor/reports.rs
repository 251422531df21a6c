//! The reports of an execution: log lines, metrics, and each cause that blocks the correction of an object.
//!
//! A cause is reported once for an object, until another takes its place, because a correction that cannot be sent is tried
//! again every half minute. The condition names only the kind of the cause, and may be of an earlier failure.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Display;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_api::identity::Uid;

use super::Run;
use crate::engine::StepAnswer;
use crate::engine::corrections::outcome::{Code, Outcome, StepOutcome};
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
    /// Logs why a correction cannot be sent. A repeated cause goes to DEBUG, because the correction is tried again and again.
    pub(super) fn tell_unsendable(&mut self, why: impl Display) {
        let (target, id, why) = (&self.executor.target.name, &self.object.id, why.to_string());
        let (kind, namespace, name) = (self.kind(), id.namespace.as_deref(), &*id.name);
        let is_news = self.executor.reported_causes.is_news(&id.uid, &why);
        if is_news {
            tracing::warn!(target, kind, namespace, name, "not corrected: {why}");
        } else {
            tracing::debug!(target, kind, namespace, name, "not corrected: {why}");
        }
        self.tells_nothing_new = !is_news;
    }

    /// Logs the answer to a step that ends a correction, with the reason that the server gives.
    pub(super) fn tell_not_accepted(&self, step: &str, answer: &StepAnswer) {
        let code = match &answer.outcome {
            StepOutcome::Refused { refusal, .. } | StepOutcome::AlreadyExists(refusal) => Some(refusal.code),
            StepOutcome::Indefinite(uncertainty) => uncertainty.code,
            _ => None,
        };
        let Some(status) = code.map(Code::short) else { return };
        let (target, id, kind) = (&self.executor.target.name, &self.object.id, self.kind());
        let (namespace, name) = (id.namespace.as_deref(), &*id.name);
        let correction = self.correction.as_ref().map(|correction| correction.number);
        let reason = answer.outcome.reason().map(ToString::to_string);
        tracing::warn!(
            target,
            kind,
            namespace,
            name,
            correction,
            step,
            status,
            reason,
            "a step of a correction is not accepted"
        );
    }

    pub(super) fn count(&self, end: &ExecutionEnd) {
        let ExecutionEnd::Corrected { correction, outcome, .. } = end else { return };
        if !outcome.sent_nothing() {
            self.executor.reported_causes.forget(&self.object.id.uid);
        }
        if !self.tells_nothing_new {
            self.log(&outcome.log_text(), Some(outcome));
        }
        let labels = CorrectionLabels {
            target: self.executor.target.name.clone(),
            action: correction.action.as_str(),
            outcome: outcome.as_label(),
        };
        self.executor.metrics.corrections.get_or_create(&labels).inc();
    }

    /// Logs the begin or, with its outcome, the end of a correction. The end is the record of the correction, whose fields
    /// are documented.
    pub(super) fn log(&self, text: &str, outcome: Option<&Outcome>) {
        let Some(correction) = &self.correction else { return };
        let (target, id, kind) = (&self.executor.target.name, &self.object.id, self.kind());
        let (namespace, name) = (id.namespace.as_deref(), &*id.name);
        let (action, number) = (correction.action.as_str(), correction.number);
        let Some(outcome) = outcome else {
            tracing::info!(target, kind, namespace, name, action, correction = number, "{text}");
            return;
        };
        let (uid, identity, label) = (&*id.uid, &*correction.resource.identity, outcome.as_label());
        let (drift, steps, duration_ms) = (&self.record.drift, self.record.steps(), self.record.duration_ms());
        macro_rules! record {
            ($level:ident) => {
                tracing::$level!(
                    target,
                    kind,
                    namespace,
                    name,
                    uid,
                    identity,
                    action,
                    correction = number,
                    outcome = label,
                    drift,
                    steps,
                    duration_ms,
                    "{text}"
                )
            };
        }
        if outcome.is_warning() { record!(warn) } else { record!(info) }
    }

    fn kind(&self) -> &str {
        &self.executor.writer.kind.resource.kind
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
