//! The Job of one correction: its name, its manifest, and what its end means.
//!
//! The name is made of the object, its generation and its desired state, what is to be done and the number of the correction, so that a
//! process that finds the correction begun finds its Job by the name and follows it: it is never begun twice. This file must not
//! know how a Job is begun or followed.

mod job_verdict;
mod words;

use std::time::Duration;

use drift_api::condition::TransitionTime;
use drift_api::names::{CONTROLLER_MANAGER, JOB_OBJECT_LABEL, JOB_TARGET_LABEL};
use drift_api::object::LeanObject;
use drift_api::requests::job::JobStage;
use drift_language::cel::Variables;
use drift_language::{JobCorrect, JobTemplate, Target};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::{AskedFor, Correction};
use crate::engine::corrections::outcome::{Code, Doubt, Refusal, Sighting, StepOutcome, Uncertainty};
use crate::engine::rendering::api_refusal::{ApiRefusal, judge_refusal};
use crate::engine::rendering::desired::desired_of;
use crate::engine::rendering::plan::{Plan, PlannedStep};
use crate::engine::rendering::unrenderable::Unrenderable;

pub use job_verdict::{Course, Turn};

/// Characters of the object's name that are kept in the Job's: with the rest they fit the 63 of a label, which Kubernetes makes of it.
const MAX_NAME_CHARS: usize = 24;
/// Bytes of the hash in the name.
const HASH_BYTES: usize = 5;
/// The time that an object is left alone whose other Jobs have not ended: they may take hours, and nobody waits for a second of it.
const UNTIL_OTHERS_END: Duration = Duration::from_secs(10);

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
    /// It was begun before and its end was not seen: it is looked for, and never begun once more.
    pub was_begun: bool,
    /// Since when the verdict stands that asks for it. None for a deletion, which needs no verdict, and none where the object says
    /// that this very Job was begun: it is followed to its end, whatever verdict came meanwhile and by whatever clock.
    asked_at: Option<TransitionTime>,
}

/// What is to be done with the API server, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// See whether it is this Job's turn. That comes before the claim, and the object is read once more after it.
    Look,
    /// Begin it, or look how far it has come where it was begun: that is done again until it has ended.
    Run,
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobReply {
    /// It is its turn.
    Clear,
    /// Another Job of the object is still there.
    Occupied,
    /// The API server refused what had to be done before the Job was begun, or did not answer.
    Refused(ApiRefusal),
    /// It was begun and goes on; how far it has come, where it should have come further by now.
    Open(Option<JobStage>),
    /// It was begun, and how it ended.
    Ended(JobEnd),
}

/// How a Job ended, as far as could be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// It did what it had to.
    Complete,
    /// It did not.
    Failed {
        /// The reason that Kubernetes gives.
        reason: String,
        /// How far it was seen to come before, where it was seen.
        came_to: Option<JobStage>,
    },
    /// Kubernetes did not take it up in time, and it was deleted.
    NeverStarted {
        /// It is certain that no Pod of it ever was.
        ran_nothing: bool,
    },
    /// It was gone before its end was seen.
    Gone,
    /// It was to be deleted after its time, and is still there.
    Lasting,
    /// A Job of its name belongs to somebody else.
    Foreign,
    /// The API server does not let us look at it any more, or does not answer. It runs on.
    Unseen(ApiRefusal),
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
        let (desired, differs) = desired_of(target, object, correction, false)?;
        let view = object.view.open();
        let variables = Variables {
            desired: desired.as_ref(),
            differs: differs.as_ref(),
            correction: Some(correction.asked_as()),
            ..Variables::of_object(&view)
        };
        let spec = template.render(&variables).map_err(Unrenderable::new)?;
        let name = name_of(object, correction);
        let is_known = correction.action == Action::Delete || correction.was_announced();
        let verdict = object.conditions.observed().filter(|_| !is_known);
        let asked_at = verdict.map(|verdict| verdict.last_transition_time.clone());
        let manifest = manifest((&name, namespace), target, object, spec);
        let (namespace, object) = (namespace.to_owned(), object.id.uid.to_string());
        let (deadline, was_begun) = (template.deadline, correction.was_begun);
        Ok(Self { namespace, name, object, manifest, deadline, was_begun, asked_at })
    }

    /// The label by which all Jobs of the object are found.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{JOB_OBJECT_LABEL}={}", self.object)
    }

    /// Returns the steps.
    #[must_use]
    pub fn plan(action: Action) -> Plan {
        let look = PlannedStep { looks_up: true, ..PlannedStep::default() };
        let steps = vec![look, PlannedStep::default()];
        let deletion = if action == Action::Delete { steps.len() } else { 0 };
        Plan { steps, deletion, ..Plan::default() }
    }

    /// The step of this index.
    #[must_use]
    pub const fn step(index: usize) -> Option<JobStep> {
        match index {
            0 => Some(JobStep::Look),
            1 => Some(JobStep::Run),
            _ => None,
        }
    }

    /// What the reply to a step means.
    #[must_use]
    pub fn judge(&self, reply: &JobReply) -> StepOutcome {
        match reply {
            JobReply::Clear => StepOutcome::Accepted,
            JobReply::Occupied => StepOutcome::NotNow { pause: UNTIL_OTHERS_END },
            JobReply::Refused(refusal) => judge_refusal(refusal.clone()),
            JobReply::Open(stage) => StepOutcome::Open(stage.map(|stage| self.sighting(stage))),
            JobReply::Ended(end) => self.judge_end(end),
        }
    }

    fn sighting(&self, stage: JobStage) -> Sighting {
        Sighting { stage, because: format!("{}: {}", self.name, words::of_stage(stage)) }
    }

    /// Whatever it may have done, the poll that follows tells what is left.
    fn judge_end(&self, end: &JobEnd) -> StepOutcome {
        let because = match end {
            JobEnd::Complete => return StepOutcome::Accepted,
            JobEnd::Unseen(ApiRefusal { status, sentence, retry_after }) => {
                let (why, code, retry_after) = (Doubt::JobUnseen, status.map(Code::Status), *retry_after);
                let because = Some(format!("{}: {sentence}", self.name));
                return StepOutcome::Indefinite(Uncertainty { why, code, because, retry_after });
            }
            end => words::of_end(end),
        };
        let refusal = Refusal { code: Code::Job, because: Some(format!("{}: {because}", self.name)) };
        let did_nothing = matches!(end, JobEnd::NeverStarted { ran_nothing: true } | JobEnd::Foreign);
        StepOutcome::Refused { refusal, did_nothing }
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
    let AskedFor { action, number, generation, desired_hash, correct_hash } = correction.asked_for();
    let (action, generation) = (action.as_str(), generation.unwrap_or_default());
    // Some kinds have no generation: there the desired state alone tells one edit from another.
    let desired_hash = desired_hash.map(|desired_hash| desired_hash.to_string()).unwrap_or_default();
    // Another text of `correct` asks for another Job.
    let asked = format!("{} {generation} {desired_hash} {correct_hash:016x} {action} {number}", object.id.uid);
    let digest = Sha256::digest(asked);
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
mod tests;
