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
use drift_language::{DocumentName, Folded, Problem};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TargetLabel {
    target: String,
}

/// Reports missing targets: a metric for each, and for those with one cause a line in `/readyz`, an Event on the
/// program's Lease, and a line in the log. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MissingTargets {
    gauge: Family<TargetLabel, Gauge>,
    health: Health,
    events: EventWriter,
    lease: ObjectReference,
}

/// The current signs of missing targets, removed on drop.
#[derive(Default)]
struct Signs {
    gauges: BTreeMap<String, ShownGauge>,
    problems: BTreeMap<String, Problem>,
    _remarks: Vec<Remark>,
}

/// The time series of one missing target, removed on drop.
struct ShownGauge {
    gauge: Family<TargetLabel, Gauge>,
    label: TargetLabel,
}

impl Drop for ShownGauge {
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
        let (mut signs, mut changes) = (Signs::default(), notes.subscribe());
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

    fn show(&self, mut before: Signs, missing: BTreeMap<String, String>, configuration: &Configuration) -> Signs {
        let namespace = self.lease.namespace.as_deref().unwrap_or_default();
        let problem = |(target, config_map): (String, String)| {
            let message = message((namespace, &config_map), has_problem(configuration, &config_map));
            let document = DocumentName { config_map, key: String::new() };
            (target.clone(), Problem::of_target(document, target, message))
        };
        let problems: BTreeMap<String, Problem> = missing.into_iter().map(problem).collect();
        let is_new = |(target, problem): &(&String, &Problem)| before.problems.get(*target) != Some(*problem);
        let new: Vec<&Problem> = problems.iter().filter(is_new).map(|(_, problem)| problem).collect();
        Folded::all(new).iter().for_each(|folded| self.tell(folded));
        let gauge =
            |target: &String| (target.clone(), before.gauges.remove(target).unwrap_or_else(|| self.show_gauge(target)));
        let gauges = problems.keys().map(gauge).collect();
        before.gauges.keys().for_each(|target| tracing::info!(target = target, "the target is not missing any more"));
        let remark = |folded: &Folded<'_>| self.health.remark(folded.subject(), folded.message());
        let remarks = Folded::all(problems.values()).iter().map(remark).collect();
        Signs { gauges, problems, _remarks: remarks }
    }

    fn tell(&self, folded: &Folded<'_>) {
        let targets = folded.problems().iter().filter_map(|problem| problem.target.as_deref()).collect::<Vec<_>>();
        tracing::warn!(targets = targets.join(", "), cause = folded.message(), "targets are missing");
        self.events.emit(Notice {
            target: folded.problems().first().map(|problem| problem.document.config_map.clone()).unwrap_or_default(),
            regarding: self.lease.clone(),
            kind: NoticeKind::Warning,
            reason: "TargetMissing",
            action: "Load",
            note: folded.to_string(),
        });
    }

    fn show_gauge(&self, target: &str) -> ShownGauge {
        let label = TargetLabel { target: target.to_owned() };
        self.gauge.get_or_create(&label).set(1);
        ShownGauge { gauge: self.gauge.clone(), label }
    }
}

fn has_problem(configuration: &Configuration, config_map: &str) -> bool {
    let wrong = configuration.problems.iter().map(|problem| &problem.document).chain(&configuration.unsettled);
    wrong.into_iter().any(|document| document.config_map == config_map)
}

fn message((namespace, config_map): (&str, &str), has_problem: bool) -> String {
    let cause = match has_problem {
        true => "has a wrong document".to_owned(),
        false => format!("is gone or lacks the label {TARGETS_LABEL}: \"{TRUE}\""),
    };
    let forget = Problem::FORGET;
    format!(
        "missing: ConfigMap {namespace}/{config_map} {cause}; the objects keep their conditions and finalizers, and are \
         neither polled nor corrected, and deletions of other targets in the same scope wait (restore the ConfigMap, or \
         remove the target with `{forget} --targets-namespace {namespace}`)"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, reply};
    use crate::events::{event_writer, lease_reference};
    use crate::telemetry::metrics;
    use drift_language::Target;
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
        Problem { document, line: 1, column: 1, target: None, message: "no".to_owned() }
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
            (named.collect::<BTreeSet<_>>(), health.remarks())
        };
        let looking = async {
            let lost = "missing: ConfigMap here/c is gone or lacks the label";
            let wrong_map = "missing: ConfigMap here/c has a wrong document";
            for (active, whole, problem, missing, said) in [
                (vec![&one, &two], vec![], None, vec![], None),
                (vec![&one], vec![], None, vec!["two"], Some(("target two", lost, "forget two"))),
                (vec![&one], vec![], Some(wrong(&map)), vec!["two"], Some(("target two", wrong_map, "forget two"))),
                (
                    vec![],
                    vec![],
                    Some(wrong("other")),
                    vec!["one", "two"],
                    Some(("targets one, two", lost, "forget TARGET")),
                ),
                (vec![&one, &two], vec![], None, vec![], None),
                (vec![], vec![&*map], None, vec![], None),
            ] {
                let problems = problem.into_iter().collect();
                published.send_replace(Arc::new(Configuration { problems, ..configuration(&active, &whole) }));
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                let (named, remarks) = shown();
                let missing: BTreeSet<String> = missing.into_iter().map(str::to_owned).collect();
                assert!(named == missing && remarks.len() == usize::from(said.is_some()), "{named:?} {remarks:?}");
                let Some((subject, cause, command)) = said else { continue };
                let text = remarks[0].trouble.as_deref().unwrap();
                assert!(remarks[0].name == subject && text.starts_with(cause), "{remarks:?}");
                assert!(text.contains(&format!("`kubectl drift {command} --targets-namespace here`")), "{text}");
            }
        };
        tokio::select! {
            () = looking => {}
            () = signs.follow(receiver, notes) => unreachable!(),
            () = task.run(CancellationToken::new()) => unreachable!(),
        }
        let told: Vec<_> = log.all().iter().map(|sent| sent.json()).collect();
        let notes = told.iter().map(|event| event["note"].as_str().unwrap().split(';').next().unwrap());
        let lost = "missing: ConfigMap here/c is gone or lacks the label driftpoller.dev/targets: \"true\"";
        let expected = [
            format!("target two: {lost}"),
            "target two: missing: ConfigMap here/c has a wrong document".to_owned(),
            format!("targets one, two: {lost}"),
        ];
        assert_eq!(notes.collect::<Vec<_>>(), expected, "once for each change");
        let about = told.iter().all(|event| {
            let regarding = &event["regarding"];
            event["reason"] == "TargetMissing" && regarding["kind"] == "Lease" && regarding["name"] == "drift-poller"
        });
        assert!(about, "{told:?}");
    }
}
