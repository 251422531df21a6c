//! Single executions: the order of requests, and the state after an interruption.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use drift_api::condition::StatusFields;
use drift_api::identity::ScopeId;
use drift_api::secrets::labelled_secrets::LabelledSecret;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::outcome::{Doubt, Outcome, Uncertainty};
use drift_controller::engine::execution::{ExecutionEnd, Interrupt, Operation, Purpose, Write};
use drift_kube::process::clock;
use drift_systems::HostReply;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, Credentials, SCOPE, condition, object, verdict};

const OWNED: &str = r#"correction 7, owns "web": updated"#;

async fn unclaimed() -> Bench {
    Bench::new(object(&verdict("NotCreated", 0), None), "Refuse").await
}

async fn owned(reason: &str) -> Bench {
    let note = condition("driftCorrected", "True", "CorrectionApplied", OWNED);
    Bench::new(object(&verdict(reason, 7), Some(&note)), "Refuse").await
}

fn is_doubtful(end: &ExecutionEnd, doubt: Doubt) -> bool {
    matches!(outcome(end), Some(Outcome::Doubtful(_, Uncertainty { why, .. })) if why == doubt)
}

fn outcome(end: &ExecutionEnd) -> Option<Outcome> {
    match end {
        ExecutionEnd::Corrected { outcome, .. } => Some(outcome.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn a_first_create_has_its_order() {
    let bench = unclaimed().await;
    let (object, end) = bench.execute(bench.correction(Action::Create, true, true)).await;
    assert_eq!(outcome(&end), Some(Outcome::Applied));
    assert_eq!(
        bench.log(),
        [
            "add finalizer",
            r#"note CorrectionStarted owns "web": creating the external resource"#,
            "POST /proxies u-1-1",
            "PUT /proxies/web/labels u-1-1-1",
            r#"note CorrectionApplied correction 1, owns "web": created"#,
        ]
    );
    assert!(object.has_finalizer());
    let ending = format!(" [scope {}]", ScopeId::of(SCOPE));
    assert!(object.conditions.corrected().unwrap().message.text().ends_with(&ending), "{:?}", object.conditions);
}

#[tokio::test(start_paused = true)]
async fn a_step_has_its_own_time() {
    for (timeout, seconds) in [("", 10), ("timeout: 2s, ", 2), ("timeout: 5m, ", 300)] {
        let step = format!("- {{name: slow, method: POST, {timeout}url: \"http://OUTSIDE/slow\"}}");
        let object = object(&verdict("NotCreated", 0), None);
        let bench = Bench::with_lines(object, "Refuse", &[&step, ""]).await;
        bench.replace(|line, _| line.starts_with("POST /slow").then_some(StatusCode::CONTINUE));
        let began = clock::now();
        let (_, end) = bench.execute(bench.correction(Action::Create, true, true)).await;
        assert!(is_doubtful(&end, Doubt::TimedOut), "{timeout} {end:?}");
        let took = clock::now().saturating_since(began);
        let expected = Duration::from_secs(seconds);
        assert!((expected..expected + Duration::from_secs(1)).contains(&took), "{timeout} took {took:?}");
        assert!(bench.log().iter().any(|line| line == "POST /slow u-1-1"), "{:?}", bench.log());
    }
}

#[tokio::test]
async fn a_lost_lease_cuts_off_a_step() {
    let bench = owned("FieldsDiffer").await;
    let term = bench.stop_lease.clone();
    // CONTINUE: the external system never answers.
    bench.replace(move |line, _| {
        line.starts_with("POST").then(|| {
            term.cancel();
            StatusCode::CONTINUE
        })
    });
    let (_, end) = bench.execute(bench.correction(Action::Update, false, false)).await;
    assert!(is_doubtful(&end, Doubt::CutOff), "{end:?}");
    assert_eq!(bench.log(), ["POST /proxies/web u-1-8-update"]);
}

#[tokio::test]
async fn without_the_lease_nothing_is_sent_at_all() {
    let bench = owned("FieldsDiffer").await;
    bench.stop_lease.cancel();
    bench.executor.requests.term.cancelled().await;
    let (_, end) = bench.execute(bench.correction(Action::Update, false, false)).await;
    assert_eq!(end, ExecutionEnd::Nothing);
    assert!(bench.log().is_empty());
}

#[tokio::test]
async fn a_begun_correction_goes_on_while_the_program_ends() {
    let bench = unclaimed().await;
    let stop = bench.executor.requests.stop.clone();
    bench.replace(move |line, _| {
        line.starts_with("POST").then(|| {
            stop.cancel();
            StatusCode::CREATED
        })
    });
    let (_, end) = bench.execute(bench.correction(Action::Create, true, false)).await;
    assert_eq!(outcome(&end), Some(Outcome::Applied));
    assert_eq!(
        bench.log()[1..],
        [
            "POST /proxies u-1-1",
            "PUT /proxies/web/labels u-1-1-1",
            r#"note CorrectionApplied correction 1, owns "web": created"#,
        ]
    );
}

#[tokio::test]
async fn a_failed_outcome_is_written_at_the_end() {
    let bench = owned("FieldsDiffer").await;
    let stop = bench.executor.requests.stop.clone();
    bench.replace(move |line, _| {
        let fails = line.starts_with("note") && !stop.is_cancelled();
        fails.then(|| {
            // From here on nothing uses a real socket, for which a paused clock would not wait.
            tokio::time::pause();
            stop.cancel();
            StatusCode::SERVICE_UNAVAILABLE
        })
    });
    let (_, end) = bench.execute(bench.correction(Action::Update, false, false)).await;
    assert!(matches!(end, ExecutionEnd::Corrected { status: Some(_), written: true, .. }), "{end:?}");
    let note = r#"note CorrectionApplied correction 8, owns "web": updated"#;
    assert_eq!(bench.log(), ["POST /proxies/web u-1-8-update", note, note]);
}

#[tokio::test]
async fn an_outcome_waits_for_no_place_at_the_host() {
    let bench = owned("FieldsDiffer").await;
    let (gate, host) = (bench.executor.requests.gate.clone(), bench.outside.clone());
    let mut places = Vec::new();
    bench.replace(move |line, _| {
        let fails = line.starts_with("note") && places.is_empty();
        fails.then(|| {
            tokio::time::pause();
            places.extend(std::iter::from_fn(|| gate.try_enter(&host)));
            StatusCode::SERVICE_UNAVAILABLE
        })
    });
    let executing = bench.execute(bench.correction(Action::Update, false, false));
    let (_, end) = tokio::time::timeout(Duration::from_secs(60), executing).await.expect("it waits for the host");
    assert!(matches!(end, ExecutionEnd::Corrected { status: Some(_), written: true, .. }), "{end:?}");
}

#[tokio::test]
async fn the_end_takes_back_a_claim_without_request() {
    let bench = unclaimed().await;
    let stop = bench.executor.requests.stop.clone();
    bench.replace(move |line, _| {
        if line.starts_with("note CorrectionStarted") {
            stop.cancel();
        }
        None
    });
    let (_, end) = bench.execute(bench.correction(Action::Create, true, false)).await;
    assert_eq!(end, ExecutionEnd::CalledOff);
    assert_eq!(bench.log(), [r#"note CorrectionStarted owns "web": creating the external resource"#, "remove note"]);
}

#[tokio::test]
async fn a_stale_lease_cuts_off_a_request() {
    let mut bench = owned("FieldsDiffer").await;
    // The task that ends the term does not get to run.
    bench.executor.requests.term = CancellationToken::new();
    let lease = bench.stop_lease.clone();
    // CONTINUE: the external system never answers.
    bench.replace(move |line, _| {
        line.starts_with("POST").then(|| {
            lease.cancel();
            StatusCode::CONTINUE
        })
    });
    let (_, end) = bench.execute(bench.correction(Action::Update, false, false)).await;
    assert!(is_doubtful(&end, Doubt::CutOff), "{end:?}");
    assert_eq!(bench.log(), ["POST /proxies/web u-1-8-update"]);
}

#[tokio::test]
async fn a_refused_outcome_ends_with_the_targets_text() {
    let bench = owned("FieldsDiffer").await;
    bench.replace(|line, _| line.starts_with("note").then_some(StatusCode::FORBIDDEN));
    let decision = bench.correction(Action::Update, false, false);
    let (_, end) = bench.carry_out(bench.lean(), decision, Some(Interrupt::Superseded)).await;
    let ExecutionEnd::Corrected { status: Some(status), written: false, .. } = end else { panic!("{end:?}") };
    assert_eq!(status.message(), r#"correction 8, owns "web": updated"#);
}

#[tokio::test]
async fn a_host_pauses_once_three_objects_were_told_to_wait() {
    let bench = owned("FieldsDiffer").await;
    bench.replace(|line, _| line.starts_with("POST").then_some(StatusCode::TOO_MANY_REQUESTS));
    for uid in ["u-1", "u-2", "u-3"] {
        bench.state.lock().unwrap().object.as_mut().unwrap()["metadata"]["uid"] = json!(uid);
        let (_, end) = bench.execute(bench.correction(Action::Update, false, false)).await;
        assert!(is_doubtful(&end, Doubt::RateLimited), "{end:?}");
    }
    let before = bench.log();
    let (_, end) = bench.execute(bench.correction(Action::Create, true, true)).await;
    assert!(matches!(end, ExecutionEnd::Postponed(_)), "{end:?}");
    assert_eq!(bench.log(), before);
}

/// A host that did not respond, and that one request may probe.
async fn silence(bench: &Bench) {
    let gate = &bench.executor.requests.gate;
    for object in ["a", "b", "c"] {
        let mut permit = gate.enter(&bench.outside, 1).await;
        gate.begin(&mut permit, clock::now()).unwrap();
        gate.note(&permit, &object.into(), HostReply::TimedOut, clock::now());
    }
    while let Some(pause) = gate.paused(&bench.outside, clock::now()) {
        tokio::time::sleep_until(clock::instant_of(pause.until)).await;
    }
}

#[tokio::test]
async fn one_correction_has_the_silent_host() {
    let bench = unclaimed().await;
    silence(&bench).await;
    let (gate, host) = (bench.executor.requests.gate.clone(), bench.outside.clone());
    let is_kept = Arc::new(AtomicBool::new(false));
    let seen = is_kept.clone();
    bench.replace(move |line, _| {
        let claims = line.starts_with("note CorrectionStarted");
        claims.then(|| seen.store(gate.paused(&host, clock::now()).is_some(), Ordering::Relaxed));
        claims.then_some(StatusCode::FORBIDDEN)
    });
    let (_, end) = bench.execute(bench.correction(Action::Create, true, false)).await;
    assert!(matches!(end, ExecutionEnd::Refused { .. }), "{end:?}");
    assert!(is_kept.load(Ordering::Relaxed), "others would lay their claims and ask it too");
    assert_eq!(bench.executor.requests.gate.paused(&bench.outside, clock::now()), None, "given back");
}

#[tokio::test]
async fn a_host_that_fell_silent_gets_no_request() {
    let bench = unclaimed().await;
    let (gate, host) = (bench.executor.requests.gate.clone(), bench.outside.clone());
    bench.replace(move |line, _| {
        for object in ["a", "b", "c"].into_iter().filter(|_| line.contains("creating")) {
            let permit = gate.try_enter(&host).unwrap();
            gate.note(&permit, &object.into(), HostReply::TimedOut, clock::now());
        }
        None
    });
    let (_, end) = bench.execute(bench.correction(Action::Create, true, false)).await;
    assert!(matches!(end, ExecutionEnd::CalledOff), "{end:?}");
    assert_eq!(bench.log(), [r#"note CorrectionStarted owns "web": creating the external resource"#, "remove note"]);
}

#[tokio::test]
async fn a_credential_that_changes_before_it_is_sent_is_hidden() {
    let auth = "auth: {bearer: {secretRef: {name: s, key: token}}}";
    let bench = Bench::with_auth(object(&verdict("NotCreated", 0), None), "Refuse", auth).await;
    let hold = |credentials: &Credentials, token: &str| {
        let secret = LabelledSecret::new(None, [("token".to_owned(), token.as_bytes().to_vec())]);
        credentials.store(Arc::new([("s".to_owned(), secret)].into_iter().collect()));
    };
    hold(&bench.credentials, "rendered-by-Tx83kQ");
    let credentials = bench.credentials.clone();
    bench.replace(move |line, _| {
        if line.contains("creating") {
            hold(&credentials, "q0Lm5Zw2Vb7N");
        }
        line.starts_with("POST").then_some(StatusCode::CONFLICT)
    });
    bench.execute(bench.correction(Action::Create, true, true)).await;
    let told = "note CorrectionFailed correction 1: create, step 1: 409: (redacted); it seems to exist already, so the \
                create is tried once an hour";
    assert_eq!(bench.log().last().map(String::as_str), Some(told));
}

#[tokio::test]
async fn a_record_leaves_every_call_to_others() {
    let bench = owned("FieldsDiffer").await;
    let slots = &bench.executor.writer.slots;
    let free = || std::iter::from_fn(|| slots.try_enter()).collect::<Vec<_>>().len();
    let (all, mut run) = (free(), bench.executor.begin());
    let record = bench.lean().conditions.correction_status();
    let claim = Write::Status(record.clone(), Purpose::Claim);
    run.perform(&bench.lean(), Operation::Write(claim)).await;
    assert_eq!(free(), all - 1, "the next write has its call");
    run.perform(&bench.lean(), Operation::Write(Write::Outcome(record, StatusFields::NONE))).await;
    assert_eq!(free(), all, "a pause may follow");
}
