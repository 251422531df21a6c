//! Missing targets: they are noted on the Lease and not active, and there is no evidence of their removal.
//!
//! The last valid text of a target exists only in memory. If its ConfigMap is gone, has lost its label or is
//! invalid when a program starts, its objects are not processed, and no object shows that. These signs stay until
//! the state is known.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::cleanup::noted::NotedSelections;
use crate::config::Configuration;
use crate::events::{EventWriter, Notice, NoticeKind};
use crate::telemetry::health::{Health, Remark};
use drift_api::names::{TARGETS_LABEL, TRUE};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TargetLabel {
    target: String,
}

/// Reports missing targets: a metric, a line in `/readyz`, an Event on the program's Lease, and the log.
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct MissingTargets {
    gauge: Family<TargetLabel, Gauge>,
    health: Health,
    events: EventWriter,
    lease: ObjectReference,
}

/// The current signs of one missing target, removed on drop.
struct Sign {
    gauge: Family<TargetLabel, Gauge>,
    label: TargetLabel,
    sentence: String,
    _remark: Remark,
}

impl Drop for Sign {
    fn drop(&mut self) {
        self.gauge.remove(&self.label);
    }
}

impl MissingTargets {
    /// Registers the gauge. Events are about `lease`, which has the notes.
    pub fn register(registry: &mut Registry, health: Health, events: EventWriter, lease: ObjectReference) -> Self {
        let gauge = Family::default();
        let help = "1 for each target on the Lease that is not active and was not removed on purpose";
        registry.register("targets_missing", help, gauge.clone());
        Self { gauge, health, events, lease }
    }

    /// Keeps the signs up to date until the future is dropped, for a term of leadership.
    pub async fn follow(&self, mut configuration: watch::Receiver<Arc<Configuration>>, notes: NotedSelections) {
        let (mut signs, mut changes) = (BTreeMap::new(), notes.subscribe());
        loop {
            changes.mark_unchanged();
            let now = configuration.borrow_and_update().clone();
            let missing = notes.know(&now, |known| known.missing());
            signs = self.show(signs, missing, &now);
            tokio::select! {
                changed = configuration.changed() => if changed.is_err() { return },
                // `notes` owns the sender.
                _ = changes.changed() => {}
            }
        }
    }

    fn show(
        &self,
        mut before: BTreeMap<String, Sign>,
        missing: BTreeMap<String, String>,
        configuration: &Configuration,
    ) -> BTreeMap<String, Sign> {
        let namespace = self.lease.namespace.as_deref().unwrap_or_default();
        let mut signs = BTreeMap::new();
        for (target, config_map) in missing {
            let place = (namespace, config_map.as_str());
            let sentence = sentence(&target, place, has_problem(configuration, &config_map));
            let known = before.remove(&target).filter(|sign| sign.sentence == sentence);
            let sign = known.unwrap_or_else(|| self.sign(&target, sentence));
            // After the drop of an older sign of this target, which removes its time series.
            self.gauge.get_or_create(&sign.label).set(1);
            signs.insert(target, sign);
        }
        before.keys().for_each(|target| tracing::info!(target = target, "the target is not missing any more"));
        signs
    }

    fn sign(&self, target: &str, sentence: String) -> Sign {
        tracing::warn!(target = target, cause = sentence, "the target is missing");
        self.events.emit(Notice {
            target: target.to_owned(),
            regarding: self.lease.clone(),
            kind: NoticeKind::Warning,
            reason: "TargetMissing",
            action: "Load",
            note: format!("target {target} is missing: {sentence}"),
        });
        let remark = self.health.remark(format!("target {target}"), format!("missing: {sentence}"));
        let label = TargetLabel { target: target.to_owned() };
        Sign { gauge: self.gauge.clone(), label, sentence, _remark: remark }
    }
}

fn has_problem(configuration: &Configuration, config_map: &str) -> bool {
    let wrong = configuration.problems.iter().map(|problem| &problem.document).chain(&configuration.unsettled);
    wrong.into_iter().any(|document| document.config_map == config_map)
}

fn sentence(target: &str, (namespace, config_map): (&str, &str), has_problem: bool) -> String {
    let config_map = format!("ConfigMap {namespace}/{config_map}, which had it,");
    let cause = match has_problem {
        true => format!("{config_map} has a wrong document"),
        false => format!("{config_map} is gone or lacks the label {TARGETS_LABEL}: \"{TRUE}\""),
    };
    format!(
        "{cause}. Its objects keep their conditions and finalizers, and are neither polled nor corrected; new objects and \
         deletions of other targets in the same scope wait. Restore the ConfigMap; or, to remove the target, run \
         kubectl drift forget {target} --targets-namespace {namespace}"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, reply};
    use crate::events::{event_writer, lease_reference};
    use crate::telemetry::metrics;
    use drift_language::{DocumentName, Problem, Target};
    use serde_json::json;
    use std::collections::BTreeSet;
    use tokio_util::sync::CancellationToken;

    fn target(name: &str) -> Arc<Target> {
        Arc::new(drift_language::fixtures::target(&format!(
            "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: {name}}}, spec: {{objects: {{apiVersion: \
             v1, kind: Service}}, identity: x, read: {{http: {{url: 'http://h/x'}}}}, compare: {{desired: {{a: 1}}}}}}}}"
        )))
    }

    fn configuration(active: &[&Arc<Target>], whole: &[&str]) -> Configuration {
        let targets = active.iter().map(|target| (target.name.clone(), Arc::clone(target))).collect();
        let whole = whole.iter().map(|map| (*map).to_owned()).collect();
        Configuration { targets, whole, loaded: true, ..Configuration::default() }
    }

    fn wrong(config_map: &str) -> Problem {
        let document = DocumentName { config_map: config_map.to_owned(), key: "k".to_owned() };
        Problem { document, line: 1, column: 1, message: "no".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_target_is_shown_until_it_is_decided() {
        let (client, log) = answering(|_| reply(201, &json!({})));
        let (mut registry, health) = (metrics::registry("poller"), Health::default());
        let (events, task) = event_writer(client, "drift-poller", "i", &mut registry);
        let lease = lease_reference("here", "drift-poller");
        let signs = MissingTargets::register(&mut registry, health.clone(), events, lease);
        let (one, two) = (target("one"), target("two"));
        let map = one.document.config_map.clone();
        let notes = NotedSelections::default();
        notes.arrange(&configuration(&[&one, &two], &[]));
        let (published, receiver) = watch::channel(Arc::new(Configuration::default()));
        let shown = || {
            let text = metrics::text(&registry).unwrap();
            let lines = text.lines().filter(|line| line.starts_with("drift_targets_missing{"));
            let named = lines.filter_map(|line| line.split("target=\"").nth(1)?.split('"').next().map(str::to_owned));
            let remarks: Vec<_> = health.remarks().into_iter().filter_map(|remark| remark.trouble).collect();
            (named.collect::<BTreeSet<_>>(), remarks)
        };
        let looking = async {
            for (active, whole, problem, missing, said) in [
                (vec![&one, &two], vec![], None, vec![], ""),
                (vec![&one], vec![], None, vec!["two"], "is gone or lacks the label"),
                (vec![&one], vec![], Some(wrong(&map)), vec!["two"], "has a wrong document"),
                (vec![], vec![], Some(wrong("other")), vec!["one", "two"], "is gone or lacks the label"),
                (vec![&one, &two], vec![], None, vec![], ""),
                (vec![], vec![&*map], None, vec![], ""),
            ] {
                let problems = problem.into_iter().collect();
                published.send_replace(Arc::new(Configuration { problems, ..configuration(&active, &whole) }));
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                let (named, remarks) = shown();
                let missing: BTreeSet<String> = missing.into_iter().map(str::to_owned).collect();
                assert!(named == missing && remarks.len() == missing.len(), "{named:?} {remarks:?}");
                assert!(remarks.iter().all(|remark| remark.contains(said)), "{remarks:?}");
            }
        };
        tokio::select! {
            () = looking => {}
            () = signs.follow(receiver, notes) => unreachable!(),
            () = task.run(CancellationToken::new()) => unreachable!(),
        }
        let told: Vec<_> = log.all().iter().map(|sent| sent.json()).collect();
        assert_eq!(told.len(), 4, "once for each target and cause: {told:?}");
        let about = told.iter().all(|event| {
            let regarding = &event["regarding"];
            event["reason"] == "TargetMissing" && regarding["kind"] == "Lease" && regarding["name"] == "drift-poller"
        });
        assert!(about, "{told:?}");
    }
}
