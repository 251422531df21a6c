//! A Job as read from the API server: its owner and its progress.
//!
//! Only the fields that corrections need are kept. This file sends nothing.

use drift_api::held_corrections::Held;
use serde_json::Value;

/// The stage of an unfinished Job, from its status alone. Following a Job needs no right to read Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobStage {
    /// The Job controller has not started it, so its deadline does not run yet.
    NotTakenUp,
    /// It was started, and never had a Pod.
    WithoutPod,
    /// It has a Pod, and none was ever ready.
    PodNotReady,
    /// It has a Pod that runs, or one that has ended.
    Running,
}

impl JobStage {
    /// Returns the reason why a Job makes no progress in this stage; `None` if it runs.
    #[must_use]
    pub const fn hold(self) -> Option<Held> {
        match self {
            Self::NotTakenUp => Some(Held::JobNotTakenUp),
            Self::WithoutPod => Some(Held::JobWithoutPod),
            Self::PodNotReady => Some(Held::JobPodNotReady),
            Self::Running => None,
        }
    }
}

/// The progress of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobProgress {
    /// It is unfinished, at this stage.
    Open(JobStage),
    /// Its Pods succeeded.
    Complete,
    /// Its Pods failed, for this reason.
    Failed(String),
}

/// A Job as read from the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The Job's name.
    pub name: String,
    /// The Job's uid.
    pub uid: String,
    /// The Job's `metadata.resourceVersion`.
    pub resource_version: String,
    /// The uids of the objects that own it.
    pub owners: Vec<String>,
    /// True if it is being deleted. It exists until its Pods are gone.
    pub deleting: bool,
    /// True if its `spec.suspend` is set.
    pub suspended: bool,
    /// Its generation. 1 if its spec was never edited.
    pub generation: Option<i64>,
    /// The progress so far.
    pub progress: JobProgress,
    /// The time of its end, by the clock of the Job controller.
    pub ended_at: Option<String>,
}

impl Job {
    /// Reads a Job. Missing fields read as empty, because the API server always sends them.
    #[must_use]
    pub fn read(job: &Value) -> Self {
        let text = |place: &str| job.pointer(place).and_then(Value::as_str).map(str::to_owned);
        let items = |place: &str| job.pointer(place).and_then(Value::as_array).into_iter().flatten();
        let mut holding = items("/status/conditions").filter(|condition| condition["status"] == "True");
        let ended = holding.find_map(|condition| {
            let progress = match condition["type"].as_str()? {
                "Complete" => JobProgress::Complete,
                "Failed" => JobProgress::Failed(condition["reason"].as_str().unwrap_or_default().to_owned()),
                _ => return None,
            };
            Some((progress, condition["lastTransitionTime"].as_str().map(str::to_owned)))
        });
        let (progress, ended_at) = ended.unwrap_or((JobProgress::Open(stage_of(&job["status"])), None));
        Self {
            name: text("/metadata/name").unwrap_or_default(),
            uid: text("/metadata/uid").unwrap_or_default(),
            resource_version: text("/metadata/resourceVersion").unwrap_or_default(),
            owners: items("/metadata/ownerReferences")
                .filter_map(|owner| Some(owner["uid"].as_str()?.to_owned()))
                .collect(),
            deleting: text("/metadata/deletionTimestamp").is_some(),
            suspended: job.pointer("/spec/suspend") == Some(&Value::Bool(true)),
            generation: job.pointer("/metadata/generation").and_then(Value::as_i64),
            progress,
            ended_at,
        }
    }

    /// Returns true if it may still have effects.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self.progress, JobProgress::Open(_))
    }

    /// Returns its stage, unless it has ended.
    #[must_use]
    pub const fn stage(&self) -> Option<JobStage> {
        match self.progress {
            JobProgress::Open(stage) => Some(stage),
            JobProgress::Complete | JobProgress::Failed(_) => None,
        }
    }

    /// Returns true if it is suspended, and its status shows no Pod.
    #[must_use]
    pub const fn is_held_unstarted(&self) -> bool {
        self.suspended && matches!(self.progress, JobProgress::Open(JobStage::NotTakenUp))
    }

    /// Returns true if it certainly never had a Pod. A Job that is not suspended may have one before its status
    /// shows it, and one that was suspended again has lost its start time. But suspending and resuming a Job are
    /// edits of its spec.
    #[must_use]
    pub fn surely_never_had_a_pod(&self) -> bool {
        self.is_held_unstarted() && self.generation == Some(1)
    }

    /// Returns true if the object with this uid owns it.
    #[must_use]
    pub fn is_owned_by(&self, uid: &str) -> bool {
        self.owners.iter().any(|owner| owner == uid)
    }
}

/// Returns the stage from the status of a Job.
fn stage_of(status: &Value) -> JobStage {
    let has = |count: &str| status[count].as_u64().is_some_and(|pods| pods > 0);
    let uncounted = |end: &str| status["uncountedTerminatedPods"][end].as_array().is_some_and(|pods| !pods.is_empty());
    if ["ready", "failed", "succeeded"].into_iter().any(has) || uncounted("succeeded") {
        JobStage::Running
    } else if ["active", "terminating"].into_iter().any(has) || uncounted("failed") {
        // A Pod that is being removed may never have run.
        JobStage::PodNotReady
    } else if status["startTime"].is_null() {
        JobStage::NotTakenUp
    } else {
        JobStage::WithoutPod
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_job_ends_by_its_conditions() {
        let read = |status: Value| Job::read(&json!({"metadata": {"name": "n"}, "status": status}));
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "DeadlineExceeded", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let failed = JobProgress::Failed("DeadlineExceeded".to_owned());
        let open = JobProgress::Open;
        let table = [
            (json!({}), open(JobStage::NotTakenUp)),
            (json!({"startTime": "2026-01-01T00:00:00Z"}), open(JobStage::WithoutPod)),
            (json!({"startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": 0}), open(JobStage::PodNotReady)),
            (json!({"startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": 1}), open(JobStage::Running)),
            (json!({"startTime": null, "active": 0, "failed": 1}), open(JobStage::Running)),
            (json!({"terminating": 1}), open(JobStage::PodNotReady)),
            (json!({"uncountedTerminatedPods": {"failed": ["u"]}}), open(JobStage::PodNotReady)),
            (json!({"active": 1, "uncountedTerminatedPods": {"succeeded": ["u"]}}), open(JobStage::Running)),
            (json!({"conditions": [condition("FailureTarget", "True")]}), open(JobStage::NotTakenUp)),
            (json!({"conditions": [condition("Failed", "False")]}), open(JobStage::NotTakenUp)),
            (json!({"conditions": [condition("FailureTarget", "True"), condition("Failed", "True")]}), failed),
            (
                json!({"conditions": [condition("SuccessCriteriaMet", "True"), condition("Complete", "True")]}),
                JobProgress::Complete,
            ),
        ];
        for (status, expected) in table {
            let job = read(status.clone());
            assert_eq!(job.progress, expected, "{status}");
            assert_eq!(job.ended_at.is_some(), !job.is_running(), "{status}");
        }
    }

    #[test]
    fn only_what_never_began_is_held_unstarted() {
        let read = |suspend: Value, status: Value| Job::read(&json!({"spec": {"suspend": suspend}, "status": status}));
        assert!(read(json!(true), json!({})).is_held_unstarted());
        assert!(!read(json!(false), json!({})).is_held_unstarted(), "the scheduler may be slow");
        assert!(!read(json!(true), json!({"failed": 1})).is_held_unstarted());
        let ended = json!({"conditions": [{"type": "Failed", "status": "True"}]});
        assert!(!read(json!(true), ended).is_held_unstarted());
    }

    #[test]
    fn a_job_held_since_its_creation_ran_nothing() {
        let read = |generation: i64, suspend: bool, status: Value| {
            Job::read(&json!({"metadata": {"generation": generation}, "spec": {"suspend": suspend}, "status": status}))
        };
        assert!(read(1, true, json!({})).surely_never_had_a_pod());
        assert!(!read(1, false, json!({})).surely_never_had_a_pod(), "its status may be late");
        assert!(!read(3, true, json!({})).surely_never_had_a_pod(), "it was let go, and held again");
        assert!(!read(1, true, json!({"terminating": 1})).surely_never_had_a_pod());
    }

    #[test]
    fn any_owner_counts() {
        let job = Job::read(&json!({"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "b"}]}}));
        assert!(job.is_owned_by("b") && !job.is_owned_by("c"));
    }
}
