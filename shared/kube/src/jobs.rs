//! Jobs on the API server: created, read, listed for one object, and deleted.
//!
//! Each call has a deadline and is tried once.

use drift_language::Job;
use kube::api::{DeleteParams, GetParams, ListParams, Preconditions, PropagationPolicy};
use kube::core::Request;
use kube::core::request::Error as RequestError;
use serde_json::Value;

use crate::client::{CALL_DEADLINE, CallError, request};

/// The path of a namespace's Jobs.
const NAMESPACES: &str = "/apis/batch/v1/namespaces";

/// Creates, follows and deletes Jobs.
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
    /// Creates a client for one field manager.
    #[must_use]
    pub const fn new(client: kube::Client, manager: &'static str) -> Self {
        Self { client, manager }
    }

    /// Lists the Jobs of a namespace with a label.
    ///
    /// # Errors
    /// Returns the API server's error.
    pub async fn with_label(&self, namespace: &str, label: &str) -> Result<Vec<Job>, CallError> {
        let list: Value = self.send(jobs(namespace).list(&ListParams::default().labels(label))).await?;
        Ok(list["items"].as_array().into_iter().flatten().map(Job::read).collect())
    }

    /// Creates a Job. A field that Kubernetes does not know is rejected instead of dropped.
    ///
    /// # Errors
    /// Returns the API server's error. Status 409 if the name exists.
    pub async fn create(&self, namespace: &str, job: &Value) -> Result<Job, CallError> {
        let path = format!("{NAMESPACES}/{namespace}/jobs?fieldManager={}&fieldValidation=Strict", self.manager);
        let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
        let request = request.body(job.to_string().into_bytes());
        self.send(request.map_err(RequestError::BuildRequest)).await.map(|job: Value| Job::read(&job))
    }

    /// Reads a Job.
    ///
    /// # Errors
    /// Returns the API server's error. Status 404 if it does not exist.
    pub async fn read(&self, namespace: &str, name: &str) -> Result<Job, CallError> {
        self.send(jobs(namespace).get(name, &GetParams::default())).await.map(|job: Value| Job::read(&job))
    }

    /// Deletes a Job that is still in this state. It exists until its last Pod is gone, so that nothing of it runs
    /// after its name is free.
    ///
    /// # Errors
    /// Returns the API server's error. Status 409 if it is in another state.
    pub async fn delete(&self, namespace: &str, job: &Job) -> Result<(), CallError> {
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Foreground),
            preconditions: Some(Preconditions {
                uid: Some(job.uid.clone()),
                resource_version: Some(job.resource_version.clone()),
            }),
            ..DeleteParams::default()
        };
        self.send::<Value>(jobs(namespace).delete(&job.name, &parameters)).await.map(drop)
    }

    async fn send<T: serde::de::DeserializeOwned>(
        &self,
        built: Result<http::Request<Vec<u8>>, RequestError>,
    ) -> Result<T, CallError> {
        request(&self.client, CALL_DEADLINE, built?).await
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

    #[tokio::test]
    async fn each_call_says_what_it_means() {
        let (client, log) = answering(|_| {
            reply(200, &json!({"metadata": {"name": "n", "uid": "u", "resourceVersion": "7"}, "items": []}))
        });
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
        let deletion = log.all()[3].json();
        assert_eq!(deletion["preconditions"], json!({"uid": "u", "resourceVersion": "7"}));
        assert_eq!(deletion["propagationPolicy"], "Foreground");
    }
}
