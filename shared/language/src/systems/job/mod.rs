//! `correct.job`: corrections by Jobs in the object's namespace, for what only a command line can change.
//!
//! A template says what runs; of an object it takes no more than whole values of variables and arguments, so that nobody who may edit
//! an object decides what runs, as whom, or with which Secret.

mod isolation;
mod kubernetes_nodes;
mod pod;

use std::time::Duration;

use serde_json::{Value, json};

use self::pod::{PodPart, read_labels, read_pod};
use crate::cel::{DIFFERS, EvaluationError, Scope, Variables};
use crate::systems::actions::Actions;
use crate::systems::section::{CorrectSection, SentBy};
use crate::yaml::Node;
use crate::yaml::reader::Reader;
use drift_api::object::field_paths::FieldPaths;

/// Bounds of `activeDeadlineSeconds`: what takes longer than a day is no correction that anybody waits for.
const DEADLINE: std::ops::RangeInclusive<u64> = 1..=86_400;
/// Most `backoffLimit`: the controller paces what fails by itself.
const MAX_BACKOFF_LIMIT: u64 = 10;
/// Bounds of `ttlSecondsAfterFinished`. Its end must be seen before it goes: twice the five minutes that the controller waits at the
/// most before it looks again at a Job that it could not see. A week is enough to read its log.
const TTL: std::ops::RangeInclusive<u64> = 600..=604_800;
/// Default of `ttlSecondsAfterFinished`: long enough to look why it failed.
const DEFAULT_TTL: u64 = 3_600;

/// Corrections by Jobs.
#[derive(Debug)]
pub struct JobCorrect {
    /// What creates the external resource.
    pub create: Option<JobTemplate>,
    /// What changes it.
    pub update: Option<JobTemplate>,
    /// What takes it away.
    pub delete: Option<JobTemplate>,
}

/// What one Job runs, and for how long.
#[derive(Debug)]
pub struct JobTemplate {
    /// The time that it may run before Kubernetes ends it.
    pub deadline: Duration,
    backoff_limit: u64,
    ttl: u64,
    labels: Value,
    pod: PodPart,
}

impl JobTemplate {
    /// The `spec` of the Job.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Value, EvaluationError> {
        let mut pod = self.pod.render(variables)?;
        // Whatever account runs it, nobody's token is in the Pod.
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
    fn templates(&self) -> impl Iterator<Item = &JobTemplate> {
        [&self.create, &self.update, &self.delete].into_iter().flatten()
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

    fn reads_differs(&self) -> bool {
        self.templates().any(|template| template.pod.reads(DIFFERS))
    }

    fn fields(&self) -> FieldPaths {
        let mut fields = FieldPaths::default();
        self.templates().for_each(|template| template.pod.add_fields(&mut fields));
        fields
    }

    fn runs_jobs(&self) -> bool {
        true
    }

    fn replaces(&self) -> Result<bool, &'static str> {
        Err("what a difference needs is for the Job of update to find out")
    }

    /// It may name Secrets of its own namespace, and is handed none.
    fn sent_by(&self, _secret: &str) -> [SentBy; 3] {
        [("job.create", false), ("job.update", true), ("job.update", false)]
            .map(|(action, is_needed)| SentBy::none(action, is_needed))
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
