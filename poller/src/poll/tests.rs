//! Polls that are put off, and what they hear of a host, against sockets on loopback.

use arc_swap::ArcSwap;
use drift_model::condition::ObservedReason;
use drift_model::labelled_secrets::LabelledSecrets;
use drift_outside::HttpSender;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use drift_cluster::process::clock;

use super::*;
use crate::core::fixtures::{TEXT, at, object, target};
use crate::core::roster::Roster;

fn outside(secrets: &Arc<ArcSwap<LabelledSecrets>>) -> Outside {
    let sender = HttpSender::new(secrets.clone(), "test");
    Outside { sender, gate: Arc::default(), troubles: Arc::default() }
}

/// A target that reads so.
fn reading(read: &str) -> Arc<Target> {
    target(&TEXT.replace("30s", "30s\n  timeout: 1s").replace(r#"{url: "http://h/${self.spec.id}"}"#, read))
}

/// One whose answers may be as large as a target may ask for.
fn reading_much(host: &str) -> Arc<Target> {
    reading(&format!("{{url: 'http://{host}/', maxBytes: 8MiB}}"))
}

async fn poll(outside: &Outside, target: &Arc<Target>, uid: &str) -> PollOutcome {
    let mut roster = Roster::new(target.clone());
    let object = object(target, uid, &json!({"id": "x", "a": 1}), &json!({}));
    let (uid, view) = (object.id.uid.clone(), object.view.clone());
    roster.see(object, at(0), |_| true);
    let begun = roster.update(&uid, at(0).moment, |track| track.begin_poll(at(0))).unwrap();
    let (wished, request) = prepare(target, &view).unwrap();
    super::poll(outside, target, PollOrder { uid, begun, view, wished, request }).await.results.remove(0).outcome
}

/// A host that answers each request with more than needs no memory, then with a byte now and then.
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

fn finds(outcome: &PollOutcome, reason: ObservedReason) -> bool {
    matches!(outcome, PollOutcome::Found { finding, .. } if *finding == Finding::from(reason))
}

#[tokio::test]
async fn a_poll_waits_until_the_secrets_are_listed() {
    let secrets = Arc::new(ArcSwap::<LabelledSecrets>::default());
    let outside = outside(&secrets);
    let target =
        reading(r#"{url: "http://127.0.0.1:1/${self.spec.id}", auth: {bearer: {secretRef: {name: s, key: k}}}}"#);
    let poll = async || poll(&outside, &target, "u").await;
    assert!(matches!(poll().await, PollOutcome::Postponed(_)), "a Secret that was not listed yet is missed");
    secrets.store(Arc::new(std::iter::empty().collect()));
    let outcome = poll().await;
    assert!(finds(&outcome, ObservedReason::Unauthorized), "{outcome:?}");
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
async fn a_poll_whose_answer_waits_for_memory_is_late_and_says_nothing_of_its_host() {
    let (outside, (host, _server)) = (outside(&Arc::default()), trickling().await);
    let target = reading_much(&host);
    // The first takes all that the host may have.
    let (first, second) = tokio::join!(poll(&outside, &target, "a"), poll(&outside, &target, "b"));
    let late = [&first, &second].into_iter().filter(|outcome| matches!(outcome, PollOutcome::Postponed(_))).count();
    assert_eq!(late, 1, "{first:?} {second:?}");
}
