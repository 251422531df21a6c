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
use crate::systems::actions::{Action, ActionSteps, Actions};
use crate::systems::repeated_create::RepeatedCreate;
use crate::systems::section::CorrectSection;
use crate::systems::steps::{Role, VisitParts};
use crate::yaml::{Node, Reader};

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
#[derive(Debug)]
pub struct JobCorrect {
    /// Creates the external resource.
    pub create: Option<JobTemplate>,
    /// Changes the external resource.
    pub update: Option<JobTemplate>,
    /// Deletes the external resource.
    pub delete: Option<JobTemplate>,
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

pub(crate) fn read_job(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<JobCorrect> {
    let fields = reader.fields(node, place, &["create", "update", "delete"])?;
    let template =
        |scope| move |reader: &mut Reader<'_>, node: &Node, place: &str| read_template(reader, node, place, scope);
    let create = reader.optional(&fields, "create", template(Scope::Correction));
    let update = reader.optional(&fields, "update", template(Scope::Correction));
    let delete = reader.optional(&fields, "delete", template(Scope::Deletion));
    if fields.entries().is_empty() {
        return reader.refuse(fields.at(), format!("{place}: at least one of create, update, delete is needed"));
    }
    Some(JobCorrect { create: create?, update: update?, delete: delete? })
}

fn read_template(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<JobTemplate> {
    const KEYS: &[&str] = &["activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", "template"];
    let fields = reader.fields(node, place, KEYS)?;
    let deadline =
        reader.needed(&fields, "activeDeadlineSeconds", |reader, node, place| reader.whole(node, place, DEADLINE));
    let backoff_limit =
        reader.or(&fields, "backoffLimit", 0, |reader, node, place| reader.whole(node, place, 0..=MAX_BACKOFF_LIMIT));
    let ttl = reader
        .or(&fields, "ttlSecondsAfterFinished", DEFAULT_TTL, |reader, node, place| reader.whole(node, place, TTL));
    let template = reader.needed(&fields, "template", |reader, node, place| {
        let template = reader.any_fields(node, place)?;
        let labels = read_labels(reader, &template);
        let pod = match template.get("spec") {
            Some(spec) => read_pod(reader, spec, &template.place("spec"), scope),
            None => reader.refuse(node.at, format!("{place}.spec is missing")),
        };
        labels.zip(pod)
    });
    let (deadline, (labels, pod)) = (deadline?, template?);
    Some(JobTemplate { deadline: Duration::from_secs(deadline), backoff_limit: backoff_limit?, ttl: ttl?, labels, pod })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
