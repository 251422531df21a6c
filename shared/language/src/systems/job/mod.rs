//! `correct.job`: corrections by Jobs in the object's namespace, for changes that need a command line.
//!
//! The target defines the Pod. Values of the object only fill whole variables and arguments, so an editor of an object
//! cannot decide what runs, as which account, or with which Secret.

mod isolation;
mod kubernetes_nodes;
mod pod;
pub(crate) mod progress;

use std::time::Duration;

use serde_json::{Value, json};

use self::pod::{PodPart, read_labels, read_pod};
use crate::cel::{EvaluationError, Scope, Variables};
use crate::section::{Section, map, section, whole};
use crate::systems::actions::{Action, ActionSteps, Actions};
use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::section::CorrectSection;
use crate::systems::steps::{Role, VisitParts};
use crate::yaml::{Fields, Node, Reader};

/// Bounds of `activeDeadlineSeconds`. A correction that takes longer than a day is of no use.
const DEADLINE: std::ops::RangeInclusive<u64> = 1..=86_400;
/// Maximum `backoffLimit`. The controller has its own backoff.
const MAX_BACKOFF_LIMIT: u64 = 10;
/// Bounds of `ttlSecondsAfterFinished`. The end of a Job must be seen before it is deleted: twice the five minutes that
/// the controller waits at most before it looks again at a Job that it could not see. A week is enough to read its log.
const TTL: std::ops::RangeInclusive<u64> = 600..=604_800;
/// Default of `ttlSecondsAfterFinished`: long enough to investigate a failure.
const DEFAULT_TTL: u64 = 3_600;

/// Corrections by Jobs.
#[derive(Debug, Section)]
#[section(rules = check_any)]
pub struct JobCorrect {
    /// The spec of the Job that creates the resource.
    #[key(section::<WrittenJob>(Scope::Correction))]
    pub create: Option<JobTemplate>,
    /// The Job that changes it.
    #[key(section::<WrittenJob>(Scope::Correction))]
    pub update: Option<JobTemplate>,
    /// The Job that deletes it.
    #[key(section::<WrittenJob>(Scope::Deletion))]
    pub delete: Option<JobTemplate>,
}

fn check_any(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    reader.at_least_one(fields, &JobCorrect::names(()))
}

/// The Pod of one Job, and its limits.
#[derive(Debug)]
pub struct JobTemplate {
    /// Maximum run time before Kubernetes ends the Job.
    pub deadline: Duration,
    backoff_limit: u64,
    ttl: u64,
    labels: Value,
    pod: PodPart,
}

impl JobTemplate {
    /// Renders the `spec` of the Job.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        let mut pod = self.pod.render(variables)?;
        // The Pod never gets a token of its service account.
        pod["automountServiceAccountToken"] = json!(false);
        if pod["restartPolicy"].is_null() {
            pod["restartPolicy"] = json!("Never");
        }
        Ok(json!({
            "activeDeadlineSeconds": self.deadline.as_secs(),
            "backoffLimit": self.backoff_limit,
            "ttlSecondsAfterFinished": self.ttl,
            "template": {"metadata": {"labels": self.labels}, "spec": pod},
        }))
    }
}

impl JobCorrect {
    /// Returns the template that an action uses, as its only step.
    #[must_use]
    pub fn sent_for(&self, action: Action) -> ActionSteps<'_, JobTemplate> {
        let [create, update, delete] = [&self.create, &self.update, &self.delete].map(Option::as_slice);
        ActionSteps::of(action, [create, update, delete, &[]])
    }
}

impl CorrectSection for JobCorrect {
    fn key(&self) -> &'static str {
        "job"
    }

    fn actions(&self) -> Actions {
        let (create, update, delete) = (self.create.is_some(), self.update.is_some(), self.delete.is_some());
        Actions { create, update, delete, replace: false, nudge: false }
    }

    /// A Job may name Secrets of its own namespace. It gets none from the target.
    fn visit_parts<'e>(&'e self, visit: &mut VisitParts<'_, 'e>) {
        let templates = [&self.create, &self.update, &self.delete];
        templates.into_iter().flatten().for_each(|template| visit(Role::Body, &template.pod));
    }

    fn repeated_create(&self) -> RepeatedCreate {
        RepeatedCreate::Duplicates
    }

    fn runs_jobs(&self) -> bool {
        true
    }

    fn replaces(&self) -> Result<bool, &'static str> {
        Err("what a difference needs is for the Job of update to find out")
    }
}

/// The spec of a Job as written.
#[derive(Section)]
#[section(context = Scope, value = JobTemplate, check = make)]
struct WrittenJob {
    /// How long the Job may run.
    #[key(whole(DEADLINE))]
    active_deadline_seconds: u64,
    /// Retries of a failed Pod. Default: 0.
    #[key(whole(0..=MAX_BACKOFF_LIMIT), default)]
    backoff_limit: u64,
    /// Kept after its end. Default: 3600.
    #[key(whole(TTL), default = DEFAULT_TTL)]
    ttl_seconds_after_finished: u64,
    /// The Pod: metadata.labels and spec.
    #[key(map(read_template(context)))]
    template: (Value, PodPart),
}

fn make(written: WrittenJob, _: &mut Reader<'_>, _: &Fields<'_>, _: Scope) -> Option<JobTemplate> {
    let (labels, pod) = written.template;
    let (deadline, ttl) = (Duration::from_secs(written.active_deadline_seconds), written.ttl_seconds_after_finished);
    Some(JobTemplate { deadline, backoff_limit: written.backoff_limit, ttl, labels, pod })
}

/// Returns a reader of the labels and the spec of a Pod.
fn read_template(scope: Scope) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<(Value, PodPart)> {
    move |reader, node, place| {
        let template = reader.any_fields(node, place)?;
        let labels = read_labels(reader, &template);
        let pod = match template.get("spec") {
            Some(spec) => read_pod(reader, spec, &template.place("spec"), scope),
            None => reader.refuse(node.at, format!("{place}.spec is missing")),
        };
        labels.zip(pod)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
