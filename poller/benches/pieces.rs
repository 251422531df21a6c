//! Benchmarks of the parts of a poll without changes, and of a watch event.
//!
//!     cargo bench -p drift-poller --bench pieces
//!
//! They print figures and have no thresholds.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::kept_fields::KeptFields;
use drift_api::object::object_view::ObjectView;
use drift_api::timing::moment::Moment;
use drift_api::timing::time_queue::TimeQueue;
use drift_language::Target;
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::finding::Finding;
use drift_poller::engine::judgement::rendered::appraise;
use drift_poller::engine::object::object_store::ObjectStore;
use drift_poller::engine::poll::http_reading::{Progress, Reading};
use drift_poller::engine::poll::known_finding::SeenAnswers;
use drift_poller::engine::poll::request::Prepared;
use drift_poller::engine::schedule::Now;
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

/// A typical target for a kind with a few fields.
const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy}
  identity: "${self.metadata.name}"
  interval: 10s
  read: {http: {url: "http://proxies.example/proxies/${self.metadata.name}", headers: {accept: application/json}}}
  compare: {desired: {listen: "${self.spec.listen}", upstream: "${self.spec.upstream}", members: "${self.spec.members}"}}
"#;

/// Number of objects in the measured queue.
const QUEUED: u64 = 10_000;

fn target() -> Arc<Target> {
    Arc::new(drift_language::fixtures::target(TEXT))
}

fn spec() -> Value {
    let members: Vec<_> = (0..9).map(|number| format!("user-{number:05}@example")).collect();
    json!({"listen": "127.0.0.1:80", "upstream": "here:1", "members": members, "note": "x".repeat(110)})
}

/// An object as the API server sends it: 1.5 KB, including managed fields of all writers.
fn event(version: u64) -> String {
    let managed = json!([{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {"f:listen": {}, "f:upstream": {}}}}]);
    let condition = json!({
        "type": "driftObserved", "status": "False", "reason": "InSync", "observedGeneration": 3,
        "message": "the external resource matches the spec [desired 01234567d04b58e6]", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    json!({
        "apiVersion": "demo.driftpoller.dev/v1", "kind": "Proxy",
        "metadata": {
            "name": "proxy-1", "namespace": "team-a", "uid": "5b1f0c1e-0000-4000-8000-000000000001", "generation": 3,
            "resourceVersion": version.to_string(), "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": managed,
        },
        "spec": spec(),
        "status": {"conditions": [condition]},
    })
    .to_string()
}

fn reply() -> HttpReply {
    let body = ReplyBody::Whole(spec().to_string().into_bytes());
    HttpReply { status: StatusCode::OK, headers: HeaderMap::new(), body }
}

fn decode(target: &Target, kept: &KeptFields, text: &str) -> LeanObject {
    let mut json = serde_json::Deserializer::from_str(text);
    LeanObject::of_kept(&kept.decode(&mut json).unwrap(), &target.poll_fields)
}

fn of_a_poll(criterion: &mut Criterion) {
    let (target, reply) = (target(), reply());
    let read = target.read.http().unwrap();
    let object = decode(&target, &KeptFields::new(target.poll_fields.clone()), &event(1));
    let judge = || {
        let view = object.view.open();
        let Progress::Done(observed) = Reading::new(read, &view).take(&reply) else { return false };
        compare(&target, &*view, observed).finding == Finding::InSync
    };
    assert!(judge());
    criterion.bench_function("prepare: the request of an object", |bench| {
        bench.iter(|| Prepared::of(&target, black_box(&object.view)));
    });
    criterion.bench_function("appraise: desired state and identity of an object", |bench| {
        bench.iter(|| appraise(&target, black_box(&object)));
    });
    let tree = object.view.open().clone();
    criterion.bench_function("view: made", |bench| bench.iter(|| ObjectView::of(black_box(&tree))));
    criterion.bench_function("view: opened", |bench| bench.iter(|| black_box(&object.view).open().is_object()));
    criterion.bench_function("fingerprint: an answer of 370 bytes", |bench| {
        bench.iter(|| {
            let mut seen = SeenAnswers::to(read);
            seen.add(black_box(&reply));
            seen.fingerprint()
        });
    });
    criterion.bench_function("judge: an answer that is not as before", |bench| bench.iter(judge));
}

fn of_the_schedule(criterion: &mut Criterion) {
    let uids: Vec<Uid> = (0..QUEUED).map(|number| format!("5b1f0c1e-0000-4000-8000-{number:012}").into()).collect();
    let mut queue = TimeQueue::default();
    let at = |milliseconds: u64| Moment::from_start(Duration::from_millis(milliseconds));
    for (uid, number) in uids.iter().zip(0..) {
        queue.set(uid, Some(at(number)));
    }
    let mut now = 0;
    criterion.bench_function("schedule: one of 10,000 is due and is put off by an interval", |bench| {
        bench.iter(|| {
            let uid = queue.pop_due(at(now)).unwrap();
            queue.set(&uid, Some(at(now + QUEUED)));
            now += 1;
        });
    });
}

fn of_a_watch_event(criterion: &mut Criterion) {
    let target = target();
    let kept = KeptFields::new(target.poll_fields.clone());
    let text = event(1);
    criterion.bench_function("watch event: decoded to what is kept", |bench| {
        bench.iter(|| decode(&target, &kept, black_box(&text)));
    });
    let mut objects = ObjectStore::new(target.clone());
    let now = Now { moment: Moment::START, wall: Duration::from_secs(1_700_000_000) };
    let mut version = 1;
    criterion.bench_function("watch event: taken in, nothing changed but its version", |bench| {
        bench.iter_batched(
            || {
                version += 1;
                decode(&target, &kept, &event(version))
            },
            |object| objects.see(object, now),
            BatchSize::SmallInput,
        );
    });
}

criterion_group!(benches, of_a_poll, of_the_schedule, of_a_watch_event);
criterion_main!(benches);
