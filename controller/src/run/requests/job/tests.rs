//! API server calls for a Job, against an API server that is a function.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use serde_json::{Value, json};

use super::*;
use crate::engine::fixtures::correction_job;
use crate::engine::rendering::api_refusal::ApiRefusal;

/// Requests in order, with their bodies.
type Log = Arc<Mutex<Vec<(String, Value)>>>;

/// Returns a client of an API server that answers each request by its number, method and path.
fn client(answer: impl Fn(usize, &str) -> (u16, Value) + Clone + Send + Sync + 'static) -> (JobClient, Log) {
    let log = Log::default();
    let seen = log.clone();
    let handler = move |request: Request<Body>| {
        let (seen, answer) = (seen.clone(), answer.clone());
        async move {
            let line = format!("{} {}", request.method(), request.uri().path());
            let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
            let mut seen = seen.lock().unwrap();
            let (code, reply) = answer(seen.len(), &line);
            seen.push((line, serde_json::from_slice(&body).unwrap_or_default()));
            let response = Response::builder().status(StatusCode::from_u16(code).unwrap());
            response.body(Body::from(reply.to_string())).unwrap()
        }
    };
    let client = kube::Client::new(Router::new().fallback(handler), "default");
    (JobClient::new(client, "test"), log)
}

fn lines(log: &Log) -> Vec<String> {
    log.lock().unwrap().iter().map(|(line, _)| line.clone()).collect()
}

fn job(name: &str, spec: &Value, status: &Value) -> Value {
    json!({"metadata": {"name": name, "uid": name, "resourceVersion": "7", "ownerReferences": [{"uid": "u-1"}]},
        "spec": spec, "status": status})
}

fn refusal(code: u16) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "reason": "r", "message": "m"}))
}

/// Performs one step against that API server until it is complete.
async fn reply(step: usize, jobs: &JobClient) -> JobReply {
    reply_of(correction_job(), step, jobs).await.0
}

/// The same for the given Job. Also returns each reported stage once.
async fn reply_of(job: CorrectionJob, step: usize, jobs: &JobClient) -> (JobReply, Vec<JobStage>) {
    let slots = CallSlots::default();
    let step = CorrectionJob::step(step).unwrap();
    let mut followed = None;
    let subject =
        Subject { target: "tools", kind: "Role", namespace: Some("team-a"), name: "x", uid: "u-1", correction: 8 };
    let (job, may_write, followed) = (&job, &|| true, &mut followed);
    let mut request = JobRequest { job, subject, step, client: jobs, slots: &slots, may_write, followed };
    let mut said = Vec::new();
    loop {
        match request.do_next().await.unwrap() {
            JobReply::Open(stage) => said.extend(stage),
            reply => {
                said.dedup();
                return (reply, said);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_not_in_turn_is_decided_anew() {
    let others = json!({"items": [job("other", &json!({}), &json!({"startTime": "2026-01-01T00:00:00Z"}))]});
    let (jobs, log) = client(move |_, _| (200, others.clone()));
    assert_eq!(reply(0, &jobs).await, JobReply::Occupied);
    assert_eq!(lines(&log), ["GET /apis/batch/v1/namespaces/team-a/jobs"], "one look, and no waiting");
    let (jobs, _) = client(|_, _| (200, json!({"items": []})));
    assert_eq!(reply(0, &jobs).await, JobReply::Clear);
    for code in [403, 429, 500] {
        let (jobs, log) = client(move |_, _| refusal(code));
        assert!(
            matches!(reply(0, &jobs).await, JobReply::Refused(ApiRefusal { status: Some(said), .. }) if said == code)
        );
        assert_eq!(lines(&log).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_held_makes_way() {
    for deleted in [200, 404, 409] {
        let held = json!({"items": [job("other", &json!({"suspend": true}), &json!({}))]});
        let (jobs, log) = client(move |count, _| if count == 0 { (200, held.clone()) } else { refusal_or(deleted) });
        assert_eq!(reply(0, &jobs).await, JobReply::Occupied, "{deleted}");
        let (line, body) = log.lock().unwrap()[1].clone();
        assert_eq!(line, "DELETE /apis/batch/v1/namespaces/team-a/jobs/other");
        assert_eq!(body["preconditions"], json!({"uid": "other", "resourceVersion": "7"}));
    }
}

fn refusal_or(code: u16) -> (u16, Value) {
    if code == 200 { (200, json!({"kind": "Status", "status": "Success"})) } else { refusal(code) }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_begun_is_followed() {
    let name = correction_job().name;
    let running = job(&name, &json!({}), &json!({"startTime": "2026-01-01T00:00:00Z"}));
    let ended = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    let ended = job(&name, &json!({}), &ended);
    let begun_before = move |count: usize, line: &str| match (count, line.starts_with("POST")) {
        (_, true) => refusal(409),
        (1 | 2, _) => (200, running.clone()),
        (3, _) => refusal(503),
        _ => (200, ended.clone()),
    };
    let (jobs, log) = client(begun_before);
    assert_eq!(reply(1, &jobs).await, JobReply::Ended(JobEnd::Complete));
    assert_eq!(lines(&log).len(), 5, "a failed look is no end: {:?}", lines(&log));
}

#[tokio::test(start_paused = true)]
async fn only_what_was_not_begun_is_refused() {
    let name = correction_job().name;
    let (jobs, _) = client(|_, _| refusal(403));
    assert!(matches!(reply(1, &jobs).await, JobReply::Refused(ApiRefusal { status: Some(403), .. })));
    let running = job(&name, &json!({}), &json!({}));
    for (posted, what) in [((201, running), "begun"), (refusal(409), "found")] {
        let answer = move |count: usize, _: &str| if count == 0 { posted.clone() } else { refusal(403) };
        let (jobs, _) = client(answer);
        let unseen = reply(1, &jobs).await;
        assert!(matches!(unseen, JobReply::Ended(JobEnd::Unseen(_))), "{what}: {unseen:?}");
    }
    let theirs = json!({"metadata": {"name": name, "uid": "x", "ownerReferences": [{"uid": "u-2"}]}});
    let (jobs, _) = client(move |count, _| if count == 0 { refusal(409) } else { (200, theirs.clone()) });
    assert_eq!(reply(1, &jobs).await, JobReply::Ended(JobEnd::Foreign));
}

#[tokio::test(start_paused = true)]
async fn an_overdue_job_has_ended_when_it_is_gone() {
    let never = |ran_nothing| JobEnd::NeverStarted { ran_nothing };
    let table = [
        (json!({}), json!({}), never(false), "a Pod may be there before its Job tells of it"),
        (json!({"suspend": true}), json!({}), never(true), "held from the first"),
        (json!({}), json!({"startTime": "2026-01-01T00:00:00Z"}), JobEnd::Gone, "it ran"),
    ];
    for (spec, status, expected, why) in table {
        let name = correction_job().name;
        let mut running = job(&name, &spec, &status);
        running["metadata"]["generation"] = json!(1);
        let mut going = running.clone();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        // The Job still exists during some checks after its deletion.
        let left = Arc::new(Mutex::new(None::<u32>));
        let answer = move |_: usize, line: &str| {
            let mut left = left.lock().unwrap();
            match (line.starts_with("DELETE"), left.as_mut()) {
                (true, _) => *left = Some(3),
                (false, Some(0)) => return refusal(404),
                (false, Some(count)) => *count -= 1,
                (false, None) => return (200, running.clone()),
            }
            (200, going.clone())
        };
        let (jobs, log) = client(answer);
        assert_eq!(reply(1, &jobs).await, JobReply::Ended(expected), "{why}");
        assert_eq!(lines(&log).iter().filter(|line| line.starts_with("DELETE")).count(), 1, "{:?}", lines(&log));
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_begun_is_not_begun_anew() {
    let job = || {
        let mut job = correction_job();
        job.was_begun = true;
        job
    };
    let (jobs, log) = client(|_, _| refusal(404));
    assert_eq!(reply_of(job(), 1, &jobs).await.0, JobReply::Ended(JobEnd::Gone), "it was cleaned up meanwhile");
    assert_eq!(lines(&log), [format!("GET /apis/batch/v1/namespaces/team-a/jobs/{}", job().name)]);
}

#[tokio::test(start_paused = true)]
async fn a_job_without_a_pod_says_so_until_it_runs() {
    let name = correction_job().name;
    let started =
        |active: u8, ready: u8| json!({"startTime": "2026-01-01T00:00:00Z", "active": active, "ready": ready});
    let ended = json!({"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]});
    let answer = move |statuses: Vec<Value>| {
        let name = name.clone();
        // The first Job does not progress for half a minute of checks, the others for four checks.
        client(move |count, _| {
            (
                200,
                job(&name, &json!({}), statuses.get(count.saturating_sub(12) / 4).unwrap_or(statuses.last().unwrap())),
            )
        })
        .0
    };
    let jobs = answer(vec![json!({}), started(0, 0), started(1, 0), started(1, 1), started(1, 0), ended.clone()]);
    let (reply, said) = reply_of(correction_job(), 1, &jobs).await;
    assert_eq!(said[..], [JobStage::NotTakenUp, JobStage::WithoutPod, JobStage::PodNotReady, JobStage::Running]);
    let failed = |came_to| JobReply::Ended(JobEnd::Failed { reason: "DeadlineExceeded".to_owned(), came_to });
    assert_eq!(reply, failed(Some(JobStage::Running)));
    let (reply, said) = reply_of(correction_job(), 1, &answer(vec![started(0, 0), ended])).await;
    assert_eq!((said, reply), (vec![JobStage::WithoutPod], failed(Some(JobStage::WithoutPod))));
}
