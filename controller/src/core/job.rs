//! The Job of one correction: its name, its manifest, and what its end means.
//!
//! The name is made of the object, its generation, what is to be done and the number of the correction, so that a process that
//! finds the correction begun finds its Job by the name and follows it: it is never begun twice. This file must not know how a
//! Job is begun or followed.

use std::time::Duration;

use drift_model::names::{CONTROLLER_MANAGER, JOB_OBJECT_LABEL, JOB_TARGET_LABEL};
use drift_model::object::LeanObject;
use drift_target::cel::Variables;
use drift_target::{JobCorrect, JobTemplate, Target};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::api_refusal::{ApiRefusal, judge_refusal};
use super::claim::Action;
use super::correction::Correction;
use super::outcome::{Code, Refusal, StepOutcome};
use super::plan::{Plan, PlannedStep};
use super::rendering::{Unrenderable, wish_of};

/// Characters of the object's name that are kept in the Job's: with the rest they fit the 63 of a label, which Kubernetes makes of it.
const MAX_NAME_CHARS: usize = 24;
/// Bytes of the hash in the name.
const HASH_BYTES: usize = 5;

/// The Job of one correction.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectionJob {
    /// Where it runs: where the object is, so that it can be owned by it.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The uid of its object.
    pub object: String,
    /// All of it.
    pub manifest: Value,
    /// How long Kubernetes lets it run.
    pub deadline: Duration,
}

/// How a Job ended, as far as could be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// It did what it had to.
    Complete,
    /// It did not, for the reason that Kubernetes gives.
    Failed(String),
    /// Kubernetes did not take it up in time, and it was deleted.
    NeverStarted,
    /// It was gone before its end was seen.
    Gone,
    /// A Job of its name belongs to somebody else.
    Foreign,
    /// Another Job of the object did not end in time.
    Busy,
    /// The API server refused it, or did not answer.
    Refused(ApiRefusal),
}

impl CorrectionJob {
    /// The Job of a correction.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object, the target has no such Job, or the object has no namespace.
    pub fn new(
        target: &Target,
        job: &JobCorrect,
        object: &LeanObject,
        correction: &Correction,
    ) -> Result<Self, Unrenderable> {
        let action = correction.action.as_str();
        let Some(template) = template_of(job, correction.action) else {
            return Err(Unrenderable::new(format!("correct has no {action}")));
        };
        let Some(namespace) = object.id.namespace.as_deref() else {
            return Err(Unrenderable::new("a Job runs in its object's namespace, and the object has none"));
        };
        let (desired, differs) = wish_of(target, object, correction, false)?;
        let variables = Variables {
            desired: desired.as_ref(),
            differs: differs.as_ref(),
            correction: Some(correction.asked_as()),
            ..Variables::of_object(&object.view)
        };
        let spec = template.render(&variables).map_err(Unrenderable::new)?;
        let name = name_of(object, correction);
        let manifest = manifest((&name, namespace), target, object, spec);
        let (namespace, object) = (namespace.to_owned(), object.id.uid.to_string());
        Ok(Self { namespace, name, object, manifest, deadline: template.deadline })
    }

    /// The label by which all Jobs of the object are found.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{JOB_OBJECT_LABEL}={}", self.object)
    }

    /// What the steps are: this one.
    #[must_use]
    pub fn plan(action: Action) -> Plan {
        let deletion = usize::from(action == Action::Delete);
        Plan { steps: vec![PlannedStep::default()], deletion, ..Plan::default() }
    }

    /// What its end means. Whatever it may have done, the poll that follows tells what is left.
    #[must_use]
    pub fn judge(&self, end: &JobEnd) -> StepOutcome {
        let because = match end {
            JobEnd::Complete => return StepOutcome::Accepted,
            JobEnd::Refused(refusal) => return judge_refusal(refusal.clone()),
            JobEnd::Failed(reason) if reason.is_empty() => "it failed".to_owned(),
            JobEnd::Failed(reason) => format!("it failed with {reason}"),
            JobEnd::NeverStarted => "it was not started in time, and was deleted".to_owned(),
            JobEnd::Gone => "it was gone before its end was seen".to_owned(),
            JobEnd::Foreign => "a Job of that name belongs to something else".to_owned(),
            JobEnd::Busy => "another Job of the object has not ended".to_owned(),
        };
        let refusal = Refusal { code: Code::Job, because: Some(format!("{}: {because}", self.name)) };
        StepOutcome::Refused { refusal, did_nothing: matches!(end, JobEnd::NeverStarted | JobEnd::Foreign) }
    }
}

const fn template_of(job: &JobCorrect, action: Action) -> Option<&JobTemplate> {
    match action {
        Action::Create => job.create.as_ref(),
        Action::Update => job.update.as_ref(),
        Action::Delete => job.delete.as_ref(),
        Action::Replace | Action::Nudge => None,
    }
}

fn name_of(object: &LeanObject, correction: &Correction) -> String {
    let (action, number) = (correction.action.as_str(), correction.asked_as());
    let generation = correction.generation.unwrap_or_default();
    let digest = Sha256::digest(format!("{} {generation} {action} {number}", object.id.uid));
    let hash: String = digest.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let letters = object.id.name.chars().map(|letter| if letter == '.' { '-' } else { letter });
    let start: String = letters.take(MAX_NAME_CHARS).collect();
    format!("{}-{action}-{number}-{hash}", start.trim_end_matches('-'))
}

fn manifest((name, namespace): (&str, &str), target: &Target, object: &LeanObject, mut spec: Value) -> Value {
    let labels = json!({
        "app.kubernetes.io/managed-by": CONTROLLER_MANAGER,
        JOB_OBJECT_LABEL: object.id.uid,
        JOB_TARGET_LABEL: target.name,
    });
    if let (Some(of_pod), Some(ours)) = (spec["template"]["metadata"]["labels"].as_object_mut(), labels.as_object()) {
        of_pod.extend(ours.clone());
    }
    let owner = json!({
        "apiVersion": target.objects.api_version, "kind": target.objects.kind,
        "name": object.id.name, "uid": object.id.uid,
    });
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "ownerReferences": [owner]},
        "spec": spec,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::core::fixtures::{Scene, correction};
    use drift_target::{Destination, DocumentName, parse_document};
    use std::sync::Arc;

    fn job_of(change: impl FnOnce(&mut LeanObject, &mut Correction)) -> Result<CorrectionJob, Unrenderable> {
        let text = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: tools}
spec:
  objects: {apiVersion: demo.example/v1, kind: Role}
  identity: "${self.metadata.name}"
  read: {http: {url: "https://h.example/x"}}
  compare: {desired: {login: "${self.spec.login}"}}
  correct:
    mode: Correct
    job:
      update:
        activeDeadlineSeconds: 60
        template:
          metadata: {labels: {app: tool}}
          spec:
            securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
            containers:
            - name: tool
              image: registry.example/tool:1
              args: ["${correction}", "${desired.login}"]
              securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
"#;
        let document = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
        let target = parse_document(&document, text).unwrap();
        let Some(Destination::Job(job)) = &target.correct.destination else { return Err(Unrenderable::new("no Job")) };
        let (mut object, mut correction) = (Scene::new().object, correction(Action::Update));
        object.view = Arc::new(json!({"spec": {"login": true}}));
        change(&mut object, &mut correction);
        CorrectionJob::new(&target, job, &object, &correction)
    }

    #[test]
    fn a_job_belongs_to_its_object() {
        let job = job_of(|_, _| {}).unwrap();
        assert_eq!((job.namespace.as_str(), job.deadline), ("team-a", Duration::from_secs(60)));
        assert!(job.name.starts_with("orders-update-8-") && job.name.len() <= 63, "{}", job.name);
        let metadata = &job.manifest["metadata"];
        assert_eq!(
            metadata["ownerReferences"],
            json!([{"apiVersion": "demo.example/v1", "kind": "Role", "name": "orders", "uid": "u-1"}])
        );
        let labels = json!({"app.kubernetes.io/managed-by": "drift-controller", "driftpoller.dev/object": "u-1", "driftpoller.dev/target": "tools"});
        assert_eq!(metadata["labels"], labels);
        let pod = &job.manifest["spec"]["template"];
        assert_eq!(pod["metadata"]["labels"]["app"], "tool");
        assert_eq!(pod["metadata"]["labels"]["driftpoller.dev/target"], "tools", "for a NetworkPolicy");
        assert_eq!(pod["spec"]["containers"][0]["args"], json!(["8", "true"]));
    }

    #[test]
    fn a_correction_has_one_name() {
        let name = |change: fn(&mut LeanObject, &mut Correction)| job_of(change).unwrap().name;
        let one = name(|_, _| {});
        assert_eq!(one, name(|object, _| object.resource_version = "9".to_owned()));
        assert_eq!(one, name(|_, correction| correction.was_in_doubt = true));
        assert_ne!(one, name(|object, _| object.id.uid = "u-2".into()), "an object made anew");
        assert_ne!(one, name(|_, correction| correction.generation = Some(4)));
        assert_ne!(one, name(|_, correction| correction.number = 9));
        let resumed = name(|_, correction| {
            (correction.number, correction.resumes) = (9, true);
            correction.before.correction = 8;
        });
        assert_eq!(one, resumed, "what a process that is no more began");
        let long = name(|object, correction| {
            object.id.name = "a.name.with-dots.and-too-many-letters-for-a-label".into();
            correction.number = u64::MAX;
        });
        assert!(long.starts_with("a-name-with-dots-and-too-update-") && long.len() <= 63, "{long}");
        assert!(job_of(|object, _| object.id.namespace = None).is_err(), "nowhere to run");
    }

    #[test]
    fn only_what_surely_ran_nothing_did_nothing() {
        let job = job_of(|_, _| {}).unwrap();
        assert_eq!(job.judge(&JobEnd::Complete), StepOutcome::Accepted);
        for (end, nothing) in [
            (JobEnd::Failed("DeadlineExceeded".to_owned()), false),
            (JobEnd::Gone, false),
            (JobEnd::Busy, false),
            (JobEnd::NeverStarted, true),
            (JobEnd::Foreign, true),
        ] {
            let StepOutcome::Refused { did_nothing, refusal } = job.judge(&end) else { unreachable!("{end:?}") };
            assert_eq!(did_nothing, nothing, "{end:?}");
            assert_eq!(refusal.code.short(), "the Job");
            assert!(refusal.because.unwrap().starts_with(&job.name));
        }
    }
}
