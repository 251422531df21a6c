//! Reports of a target's engine as Events, log lines and metrics.

use std::collections::BTreeSet;
use std::sync::Arc;

use drift_api::attestation::MOST_EXCEPTED_NAMESPACES;
use drift_kube::{Remark, ResolvedKind};
use drift_language::Target;
use prometheus_client::metrics::gauge::Gauge;

use crate::engine::collection::requests::Unnamed;
use crate::engine::schedule::Now;
use crate::engine::{Report, SharedState, Target as Engine};
use crate::run::context::Context;
use crate::run::metrics::of_target;
use crate::run::notices::ObjectNotices;
use crate::run::target_metrics::TargetCounts;

/// Reports of one target.
pub(super) struct Reporting {
    target: Arc<Target>,
    context: Arc<Context>,
    notices: ObjectNotices,
    counts: TargetCounts,
    /// Gauge with the value 1 while the Lease lists the target.
    attested: Gauge,
    /// Line in `/readyz` about namespaces that are not attested as a whole.
    crowded: Option<Remark>,
}

impl Reporting {
    pub(super) fn new(target: &Arc<Target>, context: &Arc<Context>, kind: &ResolvedKind) -> Self {
        Self {
            counts: TargetCounts::new(&target.name, context.metrics.clone()),
            attested: context.metrics.attested.get_or_create_owned(&of_target(&target.name)),
            crowded: None,
            target: target.clone(),
            context: context.clone(),
            notices: ObjectNotices::new(&context.events, target, kind),
        }
    }

    /// Reports by Event, log line or metric.
    pub(super) fn tell<P: SharedState>(&mut self, report: Report, engine: &Engine<P>, now: Now) {
        let metrics = &self.context.metrics;
        let labels = || of_target(&self.target.name);
        match report {
            Report::Polled(found, took) => self.counts.poll(found, took, now.wall),
            Report::Postponed => _ = metrics.polls_postponed.get_or_create(&labels()).inc(),
            Report::Hinted(outcome) => self.counts.hint(outcome.as_str()),
            Report::WriteEnded(label) => self.counts.write(label),
            Report::Written(written) => {
                self.notices.verdict(&written);
                self.counts.verdict(written.before.conditions.observed(), &written.condition);
            }
            Report::WriteRefused(object, sentence) => self.notices.refusal(&object, &sentence),
            Report::RaceLost => _ = metrics.races_lost.get_or_create(&labels()).inc(),
            Report::Flapping(object) => self.notices.flapping(&object),
            Report::VerdictRemoved(object) => self.notices.removal(&object),
            Report::ClaimedTwice(object) => self.notices.overlap(&object),
            Report::Unnamed(unnamed) => self.show_unnamed(unnamed),
            Report::Crowded(namespaces) => self.show_crowded(&namespaces),
            Report::Counts => {
                let mode = self.target.correct.mode;
                self.counts.describe(mode, self.target.interval);
                self.counts.count(engine.objects().states(), mode.corrects(), now);
                let skipped = i64::try_from(engine.skipped_count()).unwrap_or(i64::MAX);
                metrics.skipped.get_or_create(&labels()).set(skipped);
            }
        }
    }

    /// Sets the gauge that is 1 while the Lease lists the target.
    pub(super) fn show_attested(&self) {
        self.attested.set(i64::from(self.context.attestations.is_written(&self.target.name)));
    }

    fn show_unnamed(&self, unnamed: Unnamed) {
        let count = i64::try_from(unnamed.count).unwrap_or(i64::MAX);
        self.context.metrics.unnamed.get_or_create(&of_target(&self.target.name)).set(count);
        self.context.unnamed.set(&self.target, unnamed);
    }

    /// Reports the namespaces that are not attested as a whole.
    fn show_crowded(&mut self, namespaces: &BTreeSet<String>) {
        let name = &self.target.name;
        if namespaces.is_empty() {
            tracing::info!(target = name, "the verdicts of all namespaces are attested again");
            self.crowded = None;
            return;
        }
        let mut named: Vec<&str> = namespaces.iter().take(MOST_EXCEPTED_NAMESPACES).map(String::as_str).collect();
        named.extend((namespaces.len() > MOST_EXCEPTED_NAMESPACES).then_some("…"));
        let what = match namespaces.len() > MOST_EXCEPTED_NAMESPACES {
            true => "nothing of the target is corrected",
            false => "nothing is corrected there",
        };
        let sentence = format!(
            "too many verdicts are not the poller's own in the namespaces {}: {what} until they are renewed; either the API \
             server refuses them (Events WriteRefused say why), or another writer of their status called the objects \
             drifted, before or after they came into the selection",
            named.join(", ")
        );
        tracing::warn!(target = name, cause = sentence, "too many verdicts of a namespace are not the poller's own");
        self.crowded = Some(self.context.health.remark(format!("target {name}"), sentence));
    }
}
