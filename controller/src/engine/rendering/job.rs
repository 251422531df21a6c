//! The Job of one correction: its name, its manifest, and the meaning of its end.
//!
//! The name is a hash of the object, its generation and desired state, the action and the number of the
//! correction. A process that finds a started correction finds its Job by that name and follows it. So the Job is
//! never created twice.

mod job_verdict;
mod words;

use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::TransitionTime;
use drift_api::names::{CONTROLLER_MANAGER, JOB_OBJECT_LABEL, JOB_TARGET_LABEL};
use drift_api::object::LeanObject;
use drift_language::{JobCorrect, JobStage, Target};
use drift_systems::RefusalReason;
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::engine::corrections::{
    Action, AskedFor, Code, Correction, Doubt, Refusal, StepAnswer, StepOutcome, Uncertainty,
};
use crate::engine::rendering::api_refusal::{ApiRefusal, judge_refusal};
use crate::engine::rendering::desired::Aim;
use crate::engine::rendering::plan::{Plan, PlannedStep};
use crate::engine::rendering::requests::{Reply, Request, Requests};
use crate::engine::rendering::unrenderable::Unrenderable;

pub use job_verdict::{Course, Turn};

/// Characters of the object's name in the Job's name. With the other parts they fit the 63 characters of the label that
/// Kubernetes derives from it.
const MAX_NAME_CHARS: usize = 24;
/// Bytes of the hash in the name.
const HASH_BYTES: usize = 5;
/// Delay before the next look at an object whose other Jobs have not ended. Those may take hours, so a short
/// delay brings nothing.
const UNTIL_OTHERS_END: Duration = Duration::from_secs(10);

/// Job of one correction.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectionJob {
    /// Namespace of the Job: that of the object, so that the object can own it.
    pub namespace: String,
    /// Name of the Job.
    pub name: String,
    /// Uid of its object.
    pub object: String,
    /// Complete manifest of the Job.
    pub manifest: Value,
    /// Maximum run time, enforced by Kubernetes.
    pub deadline: Duration,
    /// True if the Job was created before and its end was not seen. It is then only looked up, never created again.
    pub was_begun: bool,
    /// Transition time of the verdict that requires it. None for a deletion, which needs no verdict. None if the object
    /// records that this Job was created: then it is followed to its end, regardless of later verdicts and clocks.
    asked_at: Option<TransitionTime>,
}

/// Sequential steps with the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// Check if it is this Job's turn. This comes before the claim, and the object is read once more after it.
    Look,
    /// Create the Job, or check its progress if it exists. The step repeats until the Job has ended.
    Run,
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobReply {
    /// It is this Job's turn.
    Clear,
    /// Another Job of the object still exists.
    Occupied,
    /// The API server refused a call before the creation of the Job, or did not respond.
    Refused(ApiRefusal),
    /// The Job was created and continues. The stage is set if it should have progressed further.
    Open(Option<JobStage>),
    /// The Job was created and ended.
    Ended(JobEnd),
}

/// End of a Job, as far as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// The Job completed.
    Complete,
    /// The Job failed.
    Failed {
        /// Reason given by Kubernetes.
        reason: String,
        /// Last stage that was seen before, if any.
        came_to: Option<JobStage>,
    },
    /// Kubernetes did not start it in time, and it was deleted.
    NeverStarted {
        /// True if certainly no Pod of it ever existed.
        ran_nothing: bool,
    },
    /// The Job was gone before its end was seen.
    Gone,
    /// The Job was due for deletion after its deadline, and still exists.
    Lasting,
    /// A Job of this name belongs to another owner.
    Foreign,
    /// The API server does not let us read it any more, or does not respond. The Job continues.
    Unseen(ApiRefusal),
}

impl CorrectionJob {
    /// Creates the Job of a correction.
    ///
    /// # Errors
    /// Fails when a template fails for this object, the target has no such Job, or the object has no namespace.
    pub fn new(
        target: &Target,
        job: &JobCorrect,
        object: &LeanObject,
        correction: &Correction,
    ) -> Result<Self, Unrenderable> {
        let action = correction.action.as_str();
        let Some(template) = job.sent_for(correction.action).iter().next() else {
            return Err(Unrenderable::new(format!("correct has no {action}")));
        };
        let Some(namespace) = object.id.namespace.as_deref() else {
            return Err(Unrenderable::new("a Job runs in its object's namespace, and the object has none"));
        };
        let aim = Aim::of(target, object, correction, false)?;
        let view = object.view.open();
        let spec = template.render(&aim.variables(&view)).map_err(Unrenderable::new)?;
        let name = name_of(object, correction);
        let is_known = correction.action == Action::Delete || correction.was_announced();
        let verdict = object.conditions.observed().filter(|_| !is_known);
        let asked_at = verdict.map(|verdict| verdict.last_transition_time.clone());
        let manifest = manifest((&name, namespace), target, object, spec);
        let (namespace, object) = (namespace.to_owned(), object.id.uid.to_string());
        let (deadline, was_begun) = (template.deadline, correction.was_begun);
        Ok(Self { namespace, name, object, manifest, deadline, was_begun, asked_at })
    }

    /// Returns the label selector for all Jobs of the object.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{JOB_OBJECT_LABEL}={}", self.object)
    }

    /// Returns the plan of the steps.
    #[must_use]
    pub fn plan(action: Action) -> Plan {
        let look = PlannedStep { looks_up: true, ..PlannedStep::default() };
        let steps = vec![look, PlannedStep::default()];
        let deletion = if action == Action::Delete { steps.len() } else { 0 };
        Plan { steps, deletion, ..Plan::default() }
    }

    /// Returns the step of this index.
    #[must_use]
    pub const fn step(index: usize) -> Option<JobStep> {
        match index {
            0 => Some(JobStep::Look),
            1 => Some(JobStep::Run),
            _ => None,
        }
    }

    /// Returns the meaning of a step's result.
    #[must_use]
    pub fn judge(&self, reply: &JobReply) -> StepOutcome {
        match reply {
            JobReply::Clear => StepOutcome::Accepted,
            JobReply::Occupied => StepOutcome::NotNow { pause: UNTIL_OTHERS_END },
            JobReply::Refused(refusal) => judge_refusal(refusal.clone()),
            JobReply::Open(stage) => StepOutcome::Open(*stage),
            JobReply::Ended(end) => self.judge_end(end),
        }
    }

    /// Judges the end of the Job. The next poll shows the remaining state in any case.
    fn judge_end(&self, end: &JobEnd) -> StepOutcome {
        let because = match end {
            JobEnd::Complete => return StepOutcome::Accepted,
            JobEnd::Unseen(ApiRefusal { status, sentence, retry_after }) => {
                let (why, code, retry_after) = (Doubt::JobUnseen, status.map(Code::Status), *retry_after);
                let because = Some(RefusalReason::own(format!("{}: {sentence}", self.name)));
                return StepOutcome::Indefinite(Uncertainty { why, code, because, retry_after });
            }
            end => words::of_end(end),
        };
        let refusal =
            Refusal { code: Code::Job, because: Some(RefusalReason::own(format!("{}: {because}", self.name))) };
        let did_nothing = matches!(end, JobEnd::NeverStarted { ran_nothing: true } | JobEnd::Foreign);
        StepOutcome::Refused { refusal, did_nothing }
    }
}

/// The requests of a correction by a Job.
#[derive(Debug)]
pub(super) struct JobRequests {
    job: Arc<CorrectionJob>,
    action: Action,
}

impl JobRequests {
    pub(super) fn new(job: CorrectionJob, action: Action) -> Self {
        Self { job: Arc::new(job), action }
    }
}

impl Requests for JobRequests {
    fn plan(&self) -> Plan {
        CorrectionJob::plan(self.action)
    }

    fn render(&mut self, index: usize) -> Result<Option<Request>, Unrenderable> {
        Ok(CorrectionJob::step(index).map(|step| Request::Job(self.job.clone(), step)))
    }

    fn judge(&mut self, _index: usize, reply: Reply, _wall: Timestamp) -> StepAnswer {
        let Reply::Job(reply) = reply else { return reply.unanswered() };
        StepAnswer::of(self.job.judge(&reply))
    }
}

fn name_of(object: &LeanObject, correction: &Correction) -> String {
    let AskedFor { action, number, generation, desired_hash, correct_hash } = correction.asked_for();
    let (action, generation) = (action.as_str(), generation.unwrap_or_default());
    // Some kinds have no generation. For those, only the desired state distinguishes edits.
    let desired_hash = desired_hash.map(|desired_hash| desired_hash.to_string()).unwrap_or_default();
    // An edit of `correct` requires another Job.
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
