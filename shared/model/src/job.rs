//! A Job as it stands on the API server: whose it is, and how far it has come.
//!
//! Only what a correction asks of a Job is kept. This file sends nothing, and must not know what a Job is for.

use serde_json::Value;

/// How far a Job has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobProgress {
    /// It has not ended; `started` says that Kubernetes has taken it up.
    Running {
        /// Whether Kubernetes has taken it up, from when its deadline counts.
        started: bool,
    },
    /// Its Pods did what they had to.
    Complete,
    /// They did not, for this reason.
    Failed(String),
}

/// A Job as it stands on the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
    /// The uids of the objects that own it.
    pub owners: Vec<String>,
    /// It is being deleted, and is there until its Pods are gone.
    pub deleting: bool,
    /// Its `spec.suspend` holds it.
    pub suspended: bool,
    /// How far it has come.
    pub progress: JobProgress,
    /// When it ended, by the clock of whoever ended it.
    pub ended_at: Option<String>,
}

impl Job {
    /// Reads a Job; what is missing reads as empty, since the API server always sends it.
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
        let (progress, ended_at) = ended.unwrap_or((JobProgress::Running { started: has_started(job) }, None));
        Self {
            name: text("/metadata/name").unwrap_or_default(),
            uid: text("/metadata/uid").unwrap_or_default(),
            resource_version: text("/metadata/resourceVersion").unwrap_or_default(),
            owners: items("/metadata/ownerReferences")
                .filter_map(|owner| Some(owner["uid"].as_str()?.to_owned()))
                .collect(),
            deleting: text("/metadata/deletionTimestamp").is_some(),
            suspended: job.pointer("/spec/suspend") == Some(&Value::Bool(true)),
            progress,
            ended_at,
        }
    }

    /// Whether it may still do something.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self.progress, JobProgress::Running { .. })
    }

    /// Whether somebody holds it before it has begun: no Pod of it ever was.
    #[must_use]
    pub const fn is_held_unstarted(&self) -> bool {
        self.suspended && matches!(self.progress, JobProgress::Running { started: false })
    }

    /// Whether it belongs to the object of this uid.
    #[must_use]
    pub fn is_owned_by(&self, uid: &str) -> bool {
        self.owners.iter().any(|owner| owner == uid)
    }
}

/// Whether a Pod of it is or was there. One that was held after its start may have lost its start time, and no count.
fn has_started(job: &Value) -> bool {
    let counts = ["active", "ready", "terminating", "failed", "succeeded"];
    let status = &job["status"];
    !status["startTime"].is_null() || counts.iter().any(|count| status[count].as_u64().is_some_and(|pods| pods > 0))
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
        let running = |started| JobProgress::Running { started };
        let table = [
            (json!({}), running(false)),
            (json!({"startTime": "2026-01-01T00:00:00Z"}), running(true)),
            (json!({"startTime": null, "active": 0, "failed": 1}), running(true)),
            (json!({"terminating": 1}), running(true)),
            (json!({"conditions": [condition("FailureTarget", "True")]}), running(false)),
            (json!({"conditions": [condition("Failed", "False")]}), running(false)),
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
    fn any_owner_counts() {
        let job = Job::read(&json!({"metadata": {"ownerReferences": [{"uid": "a"}, {"uid": "b"}]}}));
        assert!(job.is_owned_by("b") && !job.is_owned_by("c"));
    }
}
