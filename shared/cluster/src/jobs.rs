//! Jobs on the API server: begun, read, listed for one object, and deleted; and how far one has come.
//!
//! Each call has a deadline and is tried once. This file must not know what a Job is for.

use kube::api::{DeleteParams, GetParams, ListParams, Preconditions, PropagationPolicy};
use kube::core::Request;
use kube::core::request::Error as RequestError;
use serde_json::Value;

use crate::client::{CALL_DEADLINE, CallError, request};

/// The path of a namespace's Jobs.
const NAMESPACES: &str = "/apis/batch/v1/namespaces";

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
    /// The uid of the object that owns it.
    pub owner: Option<String>,
    /// How far it has come.
    pub progress: JobProgress,
}

impl Job {
    /// Reads a Job; what is missing reads as empty, since the API server always sends it.
    #[must_use]
    pub fn read(job: &Value) -> Self {
        let text = |place: &str| job.pointer(place).and_then(Value::as_str).map(str::to_owned);
        let conditions = job.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let mut holding = conditions.filter(|condition| condition["status"] == "True");
        let ended = holding.find_map(|condition| match condition["type"].as_str()? {
            "Complete" => Some(JobProgress::Complete),
            "Failed" => Some(JobProgress::Failed(condition["reason"].as_str().unwrap_or_default().to_owned())),
            _ => None,
        });
        let started = job.pointer("/status/startTime").is_some_and(|time| !time.is_null());
        Self {
            name: text("/metadata/name").unwrap_or_default(),
            uid: text("/metadata/uid").unwrap_or_default(),
            owner: text("/metadata/ownerReferences/0/uid"),
            progress: ended.unwrap_or(JobProgress::Running { started }),
        }
    }

    /// Whether it may still do something.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self.progress, JobProgress::Running { .. })
    }
}

/// Begins, follows and ends Jobs.
#[derive(Clone)]
pub struct JobClient {
    client: kube::Client,
    manager: &'static str,
}

impl std::fmt::Debug for JobClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("JobClient").field("manager", &self.manager).finish_non_exhaustive()
    }
}

impl JobClient {
    /// For one field manager.
    #[must_use]
    pub const fn new(client: kube::Client, manager: &'static str) -> Self {
        Self { client, manager }
    }

    /// The Jobs of a namespace with a label.
    ///
    /// # Errors
    /// As the API server answers.
    pub async fn with_label(&self, namespace: &str, label: &str) -> Result<Vec<Job>, CallError> {
        let list: Value = self.send(jobs(namespace).list(&ListParams::default().labels(label))).await?;
        Ok(list["items"].as_array().into_iter().flatten().map(Job::read).collect())
    }

    /// Begins a Job. A field that Kubernetes does not know is refused, and not left out.
    ///
    /// # Errors
    /// As the API server answers; 409 where one of that name is there.
    pub async fn create(&self, namespace: &str, job: &Value) -> Result<Job, CallError> {
        let path = format!("{NAMESPACES}/{namespace}/jobs?fieldManager={}&fieldValidation=Strict", self.manager);
        let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
        let request = request.body(job.to_string().into_bytes());
        self.send(request.map_err(RequestError::BuildRequest)).await.map(|job: Value| Job::read(&job))
    }

    /// Reads a Job.
    ///
    /// # Errors
    /// As the API server answers; 404 where there is none of that name.
    pub async fn read(&self, namespace: &str, name: &str) -> Result<Job, CallError> {
        self.send(jobs(namespace).get(name, &GetParams::default())).await.map(|job: Value| Job::read(&job))
    }

    /// Deletes a Job and its Pods, if it is still this one.
    ///
    /// # Errors
    /// As the API server answers.
    pub async fn delete(&self, namespace: &str, job: &Job) -> Result<(), CallError> {
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions { uid: Some(job.uid.clone()), resource_version: None }),
            ..DeleteParams::default()
        };
        self.send::<Value>(jobs(namespace).delete(&job.name, &parameters)).await.map(drop)
    }

    async fn send<T: serde::de::DeserializeOwned>(
        &self,
        built: Result<http::Request<Vec<u8>>, RequestError>,
    ) -> Result<T, CallError> {
        let built = built.map_err(|error| CallError::Transport(error.to_string()))?;
        request(&self.client, CALL_DEADLINE, built).await
    }
}

fn jobs(namespace: &str) -> Request {
    Request::new(format!("{NAMESPACES}/{namespace}/jobs"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, reply};
    use serde_json::json;

    #[test]
    fn a_job_ends_by_its_conditions() {
        let progress = |status: Value| Job::read(&json!({"metadata": {"name": "n"}, "status": status})).progress;
        let condition =
            |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "DeadlineExceeded"});
        let failed = JobProgress::Failed("DeadlineExceeded".to_owned());
        let table = [
            (json!({}), JobProgress::Running { started: false }),
            (json!({"startTime": "2026-01-01T00:00:00Z"}), JobProgress::Running { started: true }),
            (json!({"conditions": [condition("FailureTarget", "True")]}), JobProgress::Running { started: false }),
            (json!({"conditions": [condition("Failed", "False")]}), JobProgress::Running { started: false }),
            (json!({"conditions": [condition("FailureTarget", "True"), condition("Failed", "True")]}), failed),
            (
                json!({"conditions": [condition("SuccessCriteriaMet", "True"), condition("Complete", "True")]}),
                JobProgress::Complete,
            ),
        ];
        for (status, expected) in table {
            assert_eq!(progress(status.clone()), expected, "{status}");
        }
    }

    #[tokio::test]
    async fn each_call_says_what_it_means() {
        let (client, log) = answering(|_| reply(200, &json!({"metadata": {"name": "n", "uid": "u"}, "items": []})));
        let jobs = JobClient::new(client, "test");
        assert_eq!(jobs.with_label("ns", "a=b").await.unwrap(), []);
        let job = jobs.create("ns", &json!({"kind": "Job"})).await.unwrap();
        assert_eq!(jobs.read("ns", "n").await.unwrap(), job);
        jobs.delete("ns", &job).await.unwrap();
        let path = "/apis/batch/v1/namespaces/ns/jobs";
        let lines = log.lines();
        assert_eq!(lines[0], format!("GET {path}?&labelSelector=a%3Db"));
        assert_eq!(lines[1], format!("POST {path}?fieldManager=test&fieldValidation=Strict"));
        assert_eq!(lines[2], format!("GET {path}/n"));
        assert_eq!(log.all()[3].json()["preconditions"], json!({"uid": "u"}));
    }
}
