//! The reports of a target's engine as Events, lines of the log and metrics.

use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_kube::process::clock;

use super::correction_reports;
use crate::engine::Report;
use crate::run::executor::Executor;
use crate::run::metrics::{HeldLabels, WhyLabels, of_target};

/// Reports by Event, log line or metric.
pub(super) fn tell(executor: &Executor, report: Report) {
    let Executor { announcer, writer, metrics, target, .. } = executor;
    let (kind, labels, name) = (&writer.kind, of_target(&target.name), &target.name);
    match report {
        Report::Breaker(transition) => announcer.breaker(transition),
        Report::BreakerOpen(open) => _ = metrics.breaker_open.get_or_create(&labels).set(i64::from(open)),
        Report::DeletionHeld(object, why) => {
            announcer.deletion_held(kind, &object, &target.hold(&object, why, None, clock::wall()));
        }
        Report::DeletionFoundNothing(object) => announcer.deletion_found_nothing(kind, &object),
        Report::ClaimedTwice(object) => announcer.claimed_twice(kind, &object),
        Report::ScopeIncomplete(object, awaited) => announcer.scope_incomplete(kind, &object, &awaited),
        Report::WriteRefused(object, sentence) => {
            announcer.write_refused(kind, &object, (object.conditions.correction(), &sentence));
        }
        Report::Unreadable(object, sentence) => {
            let (namespace, object, uid) = (object.namespace.as_deref(), &*object.name, &*object.uid);
            let (kind, cause) = (&*kind.resource.kind, sentence);
            tracing::warn!(target = name, kind, namespace, name = object, uid, cause, "objects cannot be read");
        }
        Report::ReadableAgain => tracing::info!(target = name, "objects can be read again"),
        Report::Correction { object, correction, news, is_known } => {
            correction_reports::tell(executor, &object, &correction, news, is_known);
        }
        Report::Attestation(attestation) => tell_attestation(executor, attestation.as_ref()),
        Report::HeldBy(why, by) => {
            let labels = HeldLabels { target: name.clone(), why: why.as_str() };
            metrics.held.get_or_create(&labels).inc_by(by);
        }
        Report::HeldFor(why, lasted) => {
            let labels = WhyLabels { why: why.as_str() };
            metrics.held_seconds.get_or_create(&labels).observe(lasted.as_secs_f64());
        }
        Report::Deletions { count, oldest } => show_deletions(executor, count, oldest),
        // The actor publishes it: that needs what all targets share.
        Report::Holds(_) => {}
        Report::Ended => {
            metrics.attested.get_or_create(&labels).set(0);
            metrics.breaker_open.get_or_create(&labels).set(0);
            show_deletions(executor, 0, Duration::ZERO);
        }
    }
}

fn tell_attestation(executor: &Executor, attestation: Option<&Attestation>) {
    let target = &executor.target.name;
    let attested = attestation.is_some();
    let except = attestation.map(|attestation| &attestation.except);
    let excepted = except.map_or(0, |except| except.objects.len());
    let namespaces = except.map(|except| except.namespaces.iter().cloned().collect::<Vec<_>>().join(" "));
    let namespaces = namespaces.unwrap_or_default();
    tracing::debug!(target, attested, excepted, namespaces, "the poller attests other verdicts of the target");
    executor.metrics.attested.get_or_create(&of_target(target)).set(i64::from(attested));
}

fn show_deletions(executor: &Executor, count: usize, oldest: Duration) {
    let (metrics, labels) = (&executor.metrics, of_target(&executor.target.name));
    metrics.objects_deleting.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
    metrics.deletion_age.get_or_create(&labels).set(i64::try_from(oldest.as_secs()).unwrap_or(i64::MAX));
}
