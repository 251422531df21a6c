//! The news of corrections as log lines and metrics.

use drift_api::object::LeanObject;

use crate::engine::corrections::Correction;
use crate::engine::execution::News;
use crate::run::executor::Executor;
use crate::run::metrics::{CorrectionLabels, of_target};

/// Reports the news of a correction. A repeated cause goes to DEBUG, because the correction is tried again and again. The
/// line of its end is the record of the correction, whose fields are documented.
pub(super) fn tell(executor: &Executor, object: &LeanObject, correction: &Correction, news: News, is_known: bool) {
    let (target, id, kind) = (&executor.target.name, &object.id, &*executor.writer.kind.resource.kind);
    let (namespace, name) = (id.namespace.as_deref(), &*id.name);
    let (action, number, uid) = (correction.action.as_str(), correction.number, &*id.uid);
    match news {
        News::Decided => {
            tracing::debug!(target, kind, namespace, name, uid, action, correction = number, "a correction is decided");
        }
        News::Begins => {
            tracing::info!(target, kind, namespace, name, uid, action, correction = number, "correcting");
        }
        News::Unsendable(why) => {
            macro_rules! unsendable {
                ($level:ident) => {
                    tracing::$level!(
                        target,
                        kind,
                        namespace,
                        name,
                        uid,
                        correction = number,
                        cause = %why,
                        "a correction cannot be sent"
                    )
                };
            }
            if is_known { unsendable!(debug) } else { unsendable!(warn) }
        }
        News::NotAccepted { step, status, reason } => {
            tracing::warn!(
                target,
                kind,
                namespace,
                name,
                uid,
                correction = number,
                step,
                status,
                reason,
                "a step of a correction is not accepted"
            );
        }
        News::Ended { outcome, drift, steps, duration } => {
            let label = outcome.as_label();
            if !is_known {
                let (identity, result) = (&*correction.resource.identity, &*outcome.log_text());
                let duration_ms = duration.and_then(|duration| u64::try_from(duration.as_millis()).ok());
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
                            result,
                            "a correction ended"
                        )
                    };
                }
                if outcome.is_warning() { record!(warn) } else { record!(info) }
            }
            let labels = CorrectionLabels { target: target.clone(), action, outcome: label };
            executor.metrics.corrections.get_or_create(&labels).inc();
            if let Some(duration) = duration {
                let histogram = executor.metrics.correction_seconds.get_or_create(&of_target(target));
                histogram.observe(duration.as_secs_f64());
            }
        }
    }
}
