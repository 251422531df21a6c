//! A whole target, from the events of its watch to its writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use drift_api::attestation::Attestation;
use drift_api::identity::{Claimant, ObjectRef, Ownership, ResourceName, Uid};
use drift_api::names::{FINALIZER, PAUSED_ANNOTATION};
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::LabelledSecret;
use drift_controller::engine::corrections::Held;
use drift_controller::engine::decide::attestation::Attestations;
use drift_controller::engine::objects::object_store::Handover;
use drift_controller::run::context::Context;
use drift_controller::run::metrics::{HeldLabels, Metrics, of_target};
use drift_controller::run::target_actor::TargetActor;
use drift_kube::cleanup::NotedSelections;
use drift_kube::config::Configuration;
use drift_kube::identities::{Identities, Wake};
use drift_kube::process::{clock, tasks};
use drift_kube::subscriptions::ObjectEvent;
use drift_systems::HOST_CONCURRENCY;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bench::{Bench, CALLS, PATIENCE, bump, condition, object, verdict};

struct Running {
    bench: Bench,
    events: mpsc::Sender<ObjectEvent>,
    attestations: watch::Sender<Attestations>,
    _configuration: watch::Sender<Arc<Configuration>>,
    stop: CancellationToken,
    metrics: Metrics,
    jobs: TaskTracker,
    identities: Identities,
}

impl Running {
    fn begin(bench: Bench) -> Self {
        let (attestations, attested) = watch::channel(Attestations::default());
        let target = bench.executor.target.clone();
        let targets = BTreeMap::from([(target.name.clone(), target)]);
        let loaded = Configuration { targets, loaded: true, ..Configuration::default() };
        // No watch runs here, so the actor alone has its kind. The scopes follow the active target.
        let loaded = Arc::new(loaded);
        let (publish, configuration) = watch::channel(loaded.clone());
        let identities = Identities::default();
        let context =
            Context { attestations: attested, configuration, identities: identities.clone(), ..bench.context.clone() };
        let (metrics, jobs) = (context.metrics.clone(), context.jobs.clone());
        let followed = identities.clone();
        tasks::spawn("identities", CancellationToken::new(), async move {
            let (_active, configuration) = watch::channel(loaded);
            followed.follow(configuration, NotedSelections::default()).await;
        });
        let (events, receiver) = mpsc::channel(256);
        let stop = CancellationToken::new();
        let actor = TargetActor::new(bench.executor.clone(), Arc::new(context), Handover::default());
        let run = actor.run(receiver, stop.clone());
        tasks::spawn("actor", CancellationToken::new(), async move {
            run.await;
        });
        Self { bench, events, attestations, _configuration: publish, stop, metrics, jobs, identities }
    }

    fn attest(&self) {
        self.attest_except(&[]);
    }

    fn attest_except(&self, except: &[&str]) {
        let target = &self.bench.executor.target;
        let attestation =
            Attestation { hash: target.verdict_hash.clone(), except: except.iter().copied().map(Into::into).collect() };
        let by_target = BTreeMap::from([(target.name.clone(), attestation)]);
        let texts = BTreeMap::from([(target.name.clone(), target.document_hash.clone())]);
        let changed_at = Some(clock::now());
        self.attestations.send_replace(Attestations { held: true, changed_at, by_target, texts });
    }

    async fn see(&self) {
        self.events.send(ObjectEvent::Seen(Box::new(self.bench.lean()))).await.unwrap();
    }

    async fn list(&self) {
        self.events.send(ObjectEvent::Listed).await.unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Log lines of a creation.
const CREATED: [&str; 5] = [
    "add finalizer",
    r#"note CorrectionStarted owns "web": creating the external resource"#,
    "POST /proxies u-1-1",
    "PUT /proxies/web/labels u-1-1-1",
    r#"note CorrectionApplied correction 1, owns "web": created"#,
];

/// Waits long enough for a wrong action to appear.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(300)).await;
}

#[tokio::test]
async fn drift_is_corrected_once_the_poller_attests() {
    let running = Running::begin(Bench::new(object(&verdict("NotCreated", 0), None), "Refuse").await);
    running.see().await;
    running.attest();
    a_while().await;
    assert!(running.bench.log().is_empty(), "before the list is whole: {:?}", running.bench.log());
    running.list().await;
    running.bench.wait_for(&CREATED).await;
    running.see().await;
    a_while().await;
    assert_eq!(running.bench.log(), CREATED, "the verdict that stands did not verify correction 1");
}

/// A drifted, owned object as in a store that was restored to version 5.
fn owned() -> serde_json::Value {
    let note = condition("driftCorrected", "True", "CorrectionApplied", r#"correction 7, owns "web": updated"#);
    let mut drifted = object(&verdict("FieldsDiffer", 7), Some(&note));
    drifted["metadata"]["finalizers"] = json!([FINALIZER]);
    drifted
}

#[tokio::test]
async fn a_list_of_a_smaller_version_is_checked_live() {
    let running = Running::begin(Bench::new(owned(), "Refuse").await);
    let mut known = running.bench.lean();
    (known.resource_version, known.paused) = ("500".into(), true);
    running.attest();
    running.events.send(ObjectEvent::Seen(Box::new(known))).await.unwrap();
    running.list().await;
    running.events.send(ObjectEvent::Seen(Box::new(running.bench.lean().listed_at("50")))).await.unwrap();
    let note = r#"note CorrectionApplied correction 8, owns "web": updated"#;
    running.bench.wait_for(&["POST /proxies/web u-1-8-update", note]).await;
}

#[tokio::test]
async fn an_object_paused_in_line_is_not_corrected() {
    let note = condition("driftCorrected", "True", "CorrectionApplied", r#"correction 7, owns "web": updated"#);
    let mut drifted = object(&verdict("FieldsDiffer", 7), Some(&note));
    drifted["metadata"]["finalizers"] = json!([FINALIZER]);
    let running = Running::begin(Bench::new(drifted, "Refuse").await);
    let steps = running.bench.executor.requests.clone();
    let host = running.bench.outside.clone();
    let mut others = Vec::new();
    for _ in 0..HOST_CONCURRENCY {
        others.push(steps.gate.enter(&host, 4).await);
    }
    running.attest();
    running.see().await;
    running.list().await;
    a_while().await;
    let annotate = |annotations| {
        let mut state = running.bench.state.lock().unwrap();
        let object = state.object.as_mut().unwrap();
        object["metadata"]["annotations"] = annotations;
        bump(object);
    };
    annotate(json!({PAUSED_ANNOTATION: "true"}));
    others.clear();
    a_while().await;
    assert!(running.bench.log().is_empty(), "{:?}", running.bench.log());
    // After the pause the object is corrected, so the place was released.
    annotate(json!({}));
    running.see().await;
    let note = r#"note CorrectionApplied correction 8, owns "web": updated"#;
    running.bench.wait_for(&["POST /proxies/web u-1-8-update", note]).await;
}

#[tokio::test]
async fn a_deletion_that_is_refused_shows_its_age() {
    let mut deleting = owned();
    deleting["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    let running = Running::begin(Bench::new(deleting, "Refuse").await);
    running.bench.replace(|line, _| line.starts_with("DELETE").then_some(StatusCode::BAD_GATEWAY));
    running.see().await;
    running.list().await;
    let shown = || {
        let labels = of_target("proxies");
        let Metrics { objects_deleting, deletion_age, .. } = &running.metrics;
        (objects_deleting.get_or_create(&labels).get(), deletion_age.get_or_create(&labels).get() > 0)
    };
    let aged = async {
        while shown() != (1, true) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, aged).await.unwrap();
    running.stop.cancel();
    let ended = async {
        while shown() != (0, false) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_missing_secret_costs_no_reads() {
    let auth = "auth: {bearer: {secretRef: {name: writer, key: token}}}";
    let running = Running::begin(Bench::with_auth(object(&verdict("NotCreated", 0), None), "Refuse", auth).await);
    running.see().await;
    running.list().await;
    let for_minutes = async |minutes: u32| {
        for _ in 0..minutes * 6 {
            running.attest();
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
    };
    for_minutes(60).await;
    let reads = || running.bench.state.lock().unwrap().reads;
    assert_eq!((running.bench.log().len(), reads()), (1, 0), "{:?}", running.bench.log());

    let secret = LabelledSecret::new(None, [("token".to_owned(), b"t".to_vec())]);
    running.bench.credentials.store(Arc::new([("writer".to_owned(), secret)].into_iter().collect()));
    for_minutes(1).await;
    assert!(running.bench.log().iter().any(|line| line.starts_with("POST")), "{:?}", running.bench.log());
    assert!(reads() > 0, "nothing is sent for an object that was not read live");
}

#[tokio::test(start_paused = true)]
async fn a_word_that_came_back_wakes_who_waited() {
    let running = Running::begin(Bench::new(object(&verdict("NotCreated", 0), None), "Refuse").await);
    running.list().await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    running.attest();
    tokio::time::sleep(Duration::from_millis(40_500)).await;
    running.see().await;
    a_while().await;
    assert!(running.bench.log().is_empty(), "the poller's word is old: {:?}", running.bench.log());
    running.attest();
    let corrected = async {
        while running.bench.log().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), corrected).await.expect("it is corrected");
}

#[tokio::test]
async fn an_answer_does_not_bring_back_who_left() {
    let running = Running::begin(Bench::new(object(&verdict("NotCreated", 0), None), "Refuse").await);
    let (events, left) = (running.events.clone(), running.bench.lean().id.uid);
    running.bench.replace(move |line, _| {
        if line.starts_with("PUT") {
            events.try_send(ObjectEvent::Left(left.clone())).unwrap();
        }
        None
    });
    running.see().await;
    running.attest();
    running.list().await;
    let corrected = async {
        while running.bench.log().len() < 5 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), corrected).await.expect("it is corrected");
    a_while().await;
    // A known object would be held until a poll verifies the correction.
    let labels = HeldLabels { target: "proxies".to_owned(), why: Held::NotVerified.as_str() };
    assert_eq!(running.metrics.held.get_or_create(&labels).get(), 0, "it came back: {:?}", running.bench.log());
}

#[tokio::test]
async fn a_target_has_few_writes_under_way_at_once() {
    let running = Running::begin(Bench::new(object(&verdict("NotUpdated", 0), None), "Adopt").await);
    // No call slot is free, so no work ends.
    let slots = &running.bench.executor.writer.slots;
    let mut held = Vec::new();
    for _ in 0..CALLS {
        held.push(slots.enter().await);
    }
    for number in 0..200 {
        let mut object = object(&verdict("NotUpdated", 0), None);
        object["metadata"]["name"] = json!(format!("web-{number}"));
        object["metadata"]["uid"] = json!(format!("u-{number}"));
        let object = LeanObject::prune(&object, &running.bench.executor.target.all_fields);
        running.events.send(ObjectEvent::Seen(Box::new(object))).await.unwrap();
    }
    running.list().await;
    a_while().await;
    assert!((1..=8).contains(&running.jobs.len()), "{} at once", running.jobs.len());
}

#[tokio::test]
async fn who_waits_for_the_api_holds_no_host() {
    let note = condition("driftCorrected", "True", "CorrectionApplied", r#"correction 7, owns "web": updated"#);
    let mut drifted = object(&verdict("FieldsDiffer", 7), Some(&note));
    drifted["metadata"]["finalizers"] = json!([FINALIZER]);
    let running = Running::begin(Bench::new(drifted, "Refuse").await);
    let mut held = Vec::new();
    for _ in 0..CALLS {
        held.push(running.bench.executor.writer.slots.enter().await);
    }
    running.attest();
    running.see().await;
    running.list().await;
    a_while().await;
    let gate = &running.bench.executor.requests.gate;
    let mut places = Vec::new();
    for _ in 0..HOST_CONCURRENCY {
        places.push(gate.try_enter(&running.bench.outside).expect("a place is held by somebody who waits for a call"));
    }
    held.clear();
    places.clear();
    let note = r#"note CorrectionApplied correction 8, owns "web": updated"#;
    running.bench.wait_for(&["POST /proxies/web u-1-8-update", note]).await;
}

#[tokio::test(start_paused = true)]
async fn live_reads_that_fail_back_off() {
    let note = condition("driftCorrected", "True", "CorrectionApplied", r#"correction 7, owns "web": updated"#);
    let mut drifted = object(&verdict("FieldsDiffer", 7), Some(&note));
    drifted["metadata"]["finalizers"] = json!([FINALIZER]);
    let running = Running::begin(Bench::new(drifted, "Refuse").await);
    running.bench.state.lock().unwrap().reads_fail = true;
    running.see().await;
    running.list().await;
    for _ in 0..60 {
        running.attest();
        // Watch events meanwhile change nothing.
        running.see().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let reads = running.bench.state.lock().unwrap().reads;
    assert!((3..=8).contains(&reads), "{reads} reads in a minute");
}

/// An older object that may claim the resource.
fn wanting(resource: ResourceName) -> Claimant {
    let object = ObjectRef { kind: "Proxy".into(), namespace: None, name: "older".into() };
    Claimant {
        object,
        wants: Some(resource),
        owns: None,
        may_claim: true,
        created: 0,
        deleting: false,
        claim_is_known: true,
    }
}

#[tokio::test]
async fn a_claim_holds_from_its_write_on() {
    let running = Running::begin(Bench::new(object(&verdict("NotCreated", 0), None), "Refuse").await);
    let other = Arc::new(Mutex::new(running.identities.join(&running.bench.another_target())));
    let (older, resource, member) = (Uid::from("u-0"), running.bench.resource(), other.clone());
    running.bench.replace(move |line, object| {
        if line.contains("creating") {
            member.lock().unwrap().insert(&older, wanting(resource.clone()));
            // Nothing is sent, and the claim cannot be taken back.
            object["metadata"]["annotations"] = json!({PAUSED_ANNOTATION: "true"});
        }
        line.starts_with("remove").then_some(StatusCode::SERVICE_UNAVAILABLE)
    });
    running.see().await;
    running.list().await;
    running.attest();
    let interrupted = [
        "add finalizer",
        r#"note CorrectionStarted owns "web": creating the external resource"#,
        "remove note",
        r#"note CorrectionFailed correction 1, owns "web": interrupted: nobody knows whether the correction was done"#,
    ];
    running.bench.wait_for(&interrupted).await;
    running.bench.replace(|_, _| None);
    let mut other = Arc::into_inner(other).unwrap().into_inner().unwrap();
    while let Ok(told) = tokio::time::timeout(Duration::ZERO, other.next_wake()).await {
        assert_eq!(told, Wake::Scopes, "an older object that wants the resource seemed to have it");
    }
}

#[tokio::test]
async fn what_leaves_during_its_correction_keeps_the_resource_until_then() {
    let running = Running::begin(Bench::new(object(&verdict("NotCreated", 0), None), "Refuse").await);
    let other = Arc::new(Mutex::new(running.identities.join(&running.bench.another_target())));
    let (older, had) = (Uid::from("u-0"), Arc::new(Mutex::new(Vec::new())));
    let wanting = wanting(running.bench.resource());
    let (events, left, member, asked) =
        (running.events.clone(), running.bench.lean().id.uid, other.clone(), had.clone());
    let (uid, claimant) = (older.clone(), wanting.clone());
    running.bench.replace(move |line, _| {
        let mut member = member.lock().unwrap();
        if line.contains("creating") {
            member.insert(&uid, claimant.clone());
        } else if line.starts_with("POST") {
            events.try_send(ObjectEvent::Left(left.clone())).unwrap();
        } else if line.starts_with("PUT") {
            asked.lock().unwrap().push(member.rights(&uid, &claimant).ownership);
        }
        None
    });
    running.see().await;
    running.list().await;
    running.attest();
    running.bench.wait_for(&CREATED).await;
    running.bench.replace(|_, _| None);
    let mut other = Arc::into_inner(other).unwrap().into_inner().unwrap();
    assert!(matches!(had.lock().unwrap()[..], [Ownership::Taken(_)]), "between two requests");
    let told = async { while other.next_wake().await != Wake::Object(older.clone()) {} };
    tokio::time::timeout(Duration::from_secs(20), told).await.expect("the older object is told");
    assert_eq!(other.rights(&older, &wanting).ownership, Ownership::Free);
}
