//! Postponed polls, and the host reports of polls, against sockets on loopback.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use drift_api::condition::ObservedReason;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_api::timing::token_bucket::TokenBucket;
use drift_systems::{Databases, HttpSender};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use drift_kube::process::clock;
use drift_kube::resources::ResourceClient;

use super::*;
use crate::engine::collection::requests::RequestKey;
use crate::engine::fixtures::{TEXT, at, object, target};
use crate::engine::judgement::finding::{Failure, Found};
use crate::engine::object::object_store::ObjectStore;
use crate::engine::poll::entity_tag::{EntityTag, Tagged};
use crate::engine::poll::request::{Prepared, first_request};
use crate::run::rate_limit::SharedRate;

fn outside(secrets: &Arc<ArcSwap<LabelledSecrets>>) -> Outside {
    let sender = HttpSender::new(secrets.clone(), "test");
    let databases = Databases::new(secrets.clone(), "test");
    let resources = ResourceClient::new(api_server(), "api:443");
    Outside { sender, databases, resources, gate: Arc::default(), troubles: Arc::default() }
}

/// An API server without objects.
fn api_server() -> kube::Client {
    kube::Client::new(axum::Router::new(), "default")
}

/// A target with this read.
fn reading(read: &str) -> Arc<Target> {
    target(&TEXT.replace("30s", "30s\n  timeout: 1s").replace(r#"{url: "http://h/${self.spec.id}"}"#, read))
}

/// A target whose responses may have the maximum size.
fn reading_much(host: &str) -> Arc<Target> {
    reading(&format!("{{url: 'http://{host}/', maxBytes: 8MiB}}"))
}

async fn poll(outside: &Outside, target: &Arc<Target>, uid: &str) -> PollResult {
    poll_unless(outside, target, uid, None).await
}

async fn poll_unless(outside: &Outside, target: &Arc<Target>, uid: &str, tag: Option<EntityTag>) -> PollResult {
    let mut objects = ObjectStore::new(target.clone());
    let object = object(target, uid, &json!({"id": "x", "a": 1}), &json!({}));
    let (uid, view) = (object.id.uid.clone(), object.view.clone());
    objects.see(object, at(0));
    let begun = objects.update(&uid, at(0).moment, |state| state.begin_poll(at(0))).unwrap();
    let prepared = Arc::new(Prepared::of(target, &view));
    super::poll(outside, target, PollOrder { uid, begun, view, prepared, moved: Vec::new(), tag, known: None }).await
}

/// A host that answers each request with more than fits without memory, and then with a byte now and then.
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
async fn trickling() -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(trickle(stream));
        }
    });
    (host, AbortOnDropHandle::new(task))
}

async fn trickle(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 4096]).await;
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let _ = stream.write_all(&[b'x'; 200_000]).await;
    while stream.write_all(b"x").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn finds(outcome: &PollResult, reason: ObservedReason) -> bool {
    outcome.found.as_ref().is_ok_and(|found| found.finding == Finding::from(reason))
}

#[tokio::test]
async fn a_poll_waits_until_the_secrets_are_listed() {
    let secrets = Arc::new(ArcSwap::<LabelledSecrets>::default());
    let outside = outside(&secrets);
    let target =
        reading(r#"{url: "http://127.0.0.1:1/${self.spec.id}", auth: {bearer: {secretRef: {name: s, key: k}}}}"#);
    let poll = async || poll(&outside, &target, "u").await;
    assert!(poll().await.found.is_err(), "a Secret that was not listed yet is missed");
    secrets.store(Arc::new(std::iter::empty().collect()));
    let outcome = poll().await;
    let text = "the poller's credential cannot be used: Secret s does not exist or is not labelled for this program";
    let unusable = Failure { reason: ObservedReason::CredentialUnusable, text: text.to_owned() };
    assert_eq!(outcome.found.unwrap().finding, Finding::Failed(unusable));
}

#[tokio::test]
async fn a_host_whose_answers_trickle_is_not_silent() {
    let (outside, (host, _server)) = (outside(&Arc::default()), trickling().await);
    let target = reading_much(&host);
    for uid in ["a", "b", "c", "d"] {
        let outcome = poll(&outside, &target, uid).await;
        assert!(finds(&outcome, ObservedReason::PollTimedOut), "{outcome:?}");
    }
    assert_eq!(outside.gate.paused(&host, clock::now()), None);
}

#[tokio::test]
async fn a_poll_that_waits_for_memory_spares_its_host() {
    let (outside, (host, _server)) = (outside(&Arc::default()), trickling().await);
    let target = reading_much(&host);
    // The first poll takes all memory of the host's share.
    let (first, second) = tokio::join!(poll(&outside, &target, "a"), poll(&outside, &target, "b"));
    let late = [&first, &second].into_iter().filter(|outcome| outcome.found.is_err()).count();
    assert_eq!(late, 1, "{first:?} {second:?}");
}

/// The Secret of a target whose read authenticates.
fn secret(value: &str) -> Arc<LabelledSecrets> {
    let data = ["token", "clientId", "clientSecret"].map(|key| (key.to_owned(), value.as_bytes().to_vec()));
    Arc::new([("s".to_owned(), LabelledSecret::new(None, data))].into_iter().collect())
}

/// A host that issues tokens. It repeats any other credential of a request, after the Secret has changed.
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
async fn repeating(secrets: Arc<ArcSwap<LabelledSecrets>>) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let body = if request.starts_with("POST") {
                json!({"access_token": "token-of-an-hour", "token_type": "Bearer", "expires_in": 3600})
            } else {
                secrets.store(secret("what-comes-next"));
                json!({"a": request.lines().find_map(|line| line.strip_prefix("authorization: Bearer "))})
            };
            let body = body.to_string();
            let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).await.unwrap();
        }
    });
    (host, AbortOnDropHandle::new(task))
}

#[tokio::test]
async fn what_a_read_went_out_with_is_not_shown() {
    for auth in
        ["bearer: {secretRef: {name: s, key: token}}", "oauth2: {tokenUrl: 'http://HOST/t', secretRef: {name: s}}"]
    {
        let secrets = Arc::new(ArcSwap::new(secret("what-it-was-before")));
        let (host, _server) = repeating(secrets.clone()).await;
        let target = reading(&format!("{{url: 'http://{host}/', auth: {{{}}}}}", auth.replace("HOST", &host)));
        let outcome = poll(&outside(&secrets), &target, "u").await;
        let PollResult { found: Ok(Found { finding: Finding::Differs(drift), .. }), .. } = &outcome else {
            panic!("{auth}: {outcome:?}")
        };
        assert!(drift.text.contains("/a (redacted)"), "{auth}: {}", drift.text);
    }
}

/// A host that gives these responses in order, one for each connection, and returns the conditions of its requests.
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
async fn answering(answers: Vec<&'static str>) -> (String, tokio::task::JoinHandle<Vec<Option<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        let mut conditions = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let condition = request.lines().find_map(|line| line.strip_prefix("if-none-match: "));
            conditions.push(condition.map(str::to_owned));
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        conditions
    });
    (host, task)
}

fn tag_of(outcome: &PollResult) -> Option<EntityTag> {
    match outcome {
        PollResult { found: Ok(Found { finding: Finding::InSync, .. }), tagged: Some(Tagged::Whole(tag)), .. } => {
            Some(tag.clone())
        }
        _ => None,
    }
}

#[tokio::test]
async fn an_unchanged_state_is_not_sent_again() {
    let whole = "HTTP/1.1 200 OK\r\netag: \"v1\"\r\ncontent-length: 7\r\nconnection: close\r\n\r\n{\"a\":1}";
    let drifted = "HTTP/1.1 200 OK\r\netag: \"v2\"\r\ncontent-length: 7\r\nconnection: close\r\n\r\n{\"a\":2}";
    let unchanged = "HTTP/1.1 304 Not Modified\r\netag: \"v1\"\r\nconnection: close\r\n\r\n";
    let (host, server) = answering(vec![whole, unchanged, drifted, unchanged]).await;
    let (outside, target) = (outside(&Arc::default()), reading(&format!("{{url: 'http://{host}/'}}")));
    let tag = tag_of(&poll(&outside, &target, "u").await);
    assert!(tag.is_some());
    let again = poll_unless(&outside, &target, "u", tag.clone()).await;
    assert!(
        matches!(
            again,
            PollResult { found: Ok(Found { finding: Finding::InSync, .. }), tagged: Some(Tagged::Repeated), .. }
        ),
        "{again:?}"
    );
    let drifted = poll_unless(&outside, &target, "u", tag).await;
    assert!(
        matches!(drifted, PollResult { found: Ok(Found { finding: Finding::Differs(_), .. }), tagged: None, .. }),
        "{drifted:?}"
    );
    let unasked = poll(&outside, &target, "u").await;
    let PollResult { found: Ok(Found { finding: Finding::Failed(failure), .. }), .. } = &unasked else {
        panic!("{unasked:?}")
    };
    assert_eq!(failure.reason, ObservedReason::ExternalError, "nobody asked for a 304");
    let ours = Some("\"v1\"".to_owned());
    assert_eq!(server.await.unwrap(), [None, ours.clone(), ours, None]);
}

/// A target whose collection has consecutive pages at that host.
fn reading_pages(host: &str) -> Arc<Target> {
    reading(&format!(
        "{{url: 'http://{host}/', each: '${{response.body.items}}', key: {{item: '${{item.name}}'}}, next: link}}"
    ))
}

async fn traverse(outside: &Outside, target: &Arc<Target>, rate: &SharedRate) -> PollResult {
    let mut objects = ObjectStore::new(target.clone());
    let object = object(target, "u", &json!({"id": "x", "a": 1}), &json!({}));
    let (uid, view) = (object.id.uid.clone(), object.view.clone());
    objects.see(object, at(0));
    let begun = objects.update(&uid, at(0).moment, |state| state.begin_poll(at(0))).unwrap();
    let request = first_request(target, &view.open()).unwrap();
    let members = vec![Member { uid, begun, view, moved: Vec::new(), key: "x".to_owned() }];
    let order = TraversalOrder { key: RequestKey::of(&request), request, members };
    super::traverse(outside, target, rate, order).await.results.remove(0)
}

const FURTHER: &str =
    "HTTP/1.1 200 OK\r\nlink: </next>; rel=\"next\"\r\ncontent-length: 12\r\nconnection: close\r\n\r\n{\"items\":[]}";
const LAST: &str = "HTTP/1.1 200 OK\r\ncontent-length: 12\r\nconnection: close\r\n\r\n{\"items\":[]}";

#[tokio::test]
async fn each_page_counts_as_a_read() {
    let (host, server) = answering(vec![FURTHER, LAST]).await;
    let refill = Duration::from_millis(300);
    let rate = SharedRate::of(TokenBucket::full(1, refill, clock::now()));
    rate.take(clock::now()).unwrap();
    let began = clock::now();
    let outcome = traverse(&outside(&Arc::default()), &reading_pages(&host), &rate).await;
    assert!(matches!(outcome, PollResult { found: Ok(Found { finding: Finding::Absent, .. }), .. }), "{outcome:?}");
    let answer = outcome.found.as_ref().unwrap().answer.as_deref();
    assert!(
        answer.is_some_and(|answer| answer.starts_with("the server answered 200 to GET http://127.0.0.1:")),
        "{answer:?}"
    );
    assert!(clock::now() - began >= refill, "the second page did not wait");
    assert_eq!(server.await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_page_of_a_pausing_host_is_late() {
    let (host, server) = answering(vec![FURTHER, LAST]).await;
    let outside = outside(&Arc::default());
    let (target, rate) = (reading_pages(&host), SharedRate::of(TokenBucket::full(1, Duration::ZERO, clock::now())));
    // The first page is running when three other requests cause a pause.
    let permit = outside.gate.enter(&host, 8).await;
    let told = async {
        let pause = drift_systems::HostReply::AskedToWait(Duration::from_secs(60));
        ["a", "b", "c"].into_iter().for_each(|uid| outside.gate.note(&permit, &uid.into(), pause, clock::now()));
    };
    let (outcome, ()) = tokio::join!(traverse(&outside, &target, &rate), told);
    assert!(outcome.found.is_err(), "{outcome:?}");
    assert!(!server.is_finished(), "the second page was asked for");
    server.abort();
}

#[tokio::test]
async fn a_silent_token_server_is_not_the_hosts_fault() {
    let identity = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let token_host = identity.local_addr().unwrap();
    let data = ["clientId", "clientSecret"].map(|key| (key.to_owned(), b"x".to_vec()));
    let secrets = [("s".to_owned(), LabelledSecret::new(None, data))].into_iter().collect();
    let outside = outside(&Arc::new(ArcSwap::from_pointee(secrets)));
    let auth = format!("{{oauth2: {{tokenUrl: 'http://{token_host}/', secretRef: {{name: s}}}}}}");
    let target = reading(&format!("{{url: 'http://127.0.0.1:1/', auth: {auth}}}"));
    let began = clock::now();
    let outcomes = futures::future::join_all(["a", "b", "c", "d"].map(|uid| poll(&outside, &target, uid))).await;
    assert!(clock::now() - began > target.timeout, "the deadline of the poll covered the token");
    let found = outcomes.iter().filter(|outcome| {
        let PollResult { found: Ok(Found { finding: Finding::Failed(failure), .. }), .. } = outcome else {
            return false;
        };
        failure.reason == ObservedReason::ExternalUnreachable
    });
    assert_eq!(found.count(), 1, "{outcomes:?}");
    let late = outcomes.iter().filter(|outcome| outcome.found.is_err()).count();
    assert_eq!(late, 3, "{outcomes:?}");
    assert_eq!(outside.gate.paused("127.0.0.1:1", clock::now()), None);
}
