//! One piece of work each: the order of what is sent, and what is left where it is cut short.

use axum::http::StatusCode;
use drift_controller::act::{Ended, Newest, Work};
use drift_controller::core::claim::Action;
use drift_controller::core::outcome::{Doubt, Outcome};
use drift_model::names::FINALIZER;
use serde_json::json;

use crate::bench::{Bench, bump, condition, object, verdict};

const OWNED: &str = r#"correction 7, owns "web": updated"#;

async fn unclaimed() -> Bench {
    Bench::new(object(&verdict("NotCreated", 0), None), "Refuse").await
}

async fn owned(reason: &str) -> Bench {
    let note = condition("driftCorrected", "True", "CorrectionApplied", OWNED);
    Bench::new(object(&verdict(reason, 7), Some(&note)), "Refuse").await
}

fn outcome(ended: &Ended) -> Option<Outcome> {
    match ended {
        Ended::Corrected { outcome, .. } => Some(*outcome),
        _ => None,
    }
}

#[tokio::test]
async fn a_first_create_puts_the_finalizer_then_the_claim_then_each_step_then_the_note() {
    let bench = unclaimed().await;
    let (newest, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Create, true, true))).await;
    assert_eq!(outcome(&ended), Some(Outcome::Applied));
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
    let Newest::State(object) = newest else { panic!("{newest:?}") };
    assert!(object.has_finalizer());
}

#[tokio::test]
async fn an_update_of_what_is_ours_writes_nothing_before_it() {
    let bench = owned("FieldsDiffer").await;
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Update, false, false))).await;
    assert_eq!(outcome(&ended), Some(Outcome::Applied));
    assert_eq!(
        bench.log(),
        ["POST /proxies/web u-1-8-update", r#"note CorrectionApplied correction 8, owns "web": updated"#]
    );
}

#[tokio::test]
async fn a_refused_first_create_takes_the_claim_back_and_sends_no_further_step() {
    let bench = unclaimed().await;
    bench.replace(|line, _| line.starts_with("POST").then_some(StatusCode::CONFLICT));
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Create, true, false))).await;
    assert_eq!(outcome(&ended), Some(Outcome::Refused { status: 409, step: 0 }));
    assert_eq!(
        bench.log()[1..],
        [
            "POST /proxies u-1-1",
            "note CorrectionFailed correction 1: the external system refused to create with status 409",
        ]
    );
}

#[tokio::test]
async fn a_server_error_spends_no_number() {
    let bench = owned("FieldsDiffer").await;
    bench.replace(|line, _| line.starts_with("POST").then_some(StatusCode::SERVICE_UNAVAILABLE));
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Update, false, false))).await;
    let in_doubt = Outcome::Doubtful { why: Doubt::ServerError, retry_after: None, step: 0 };
    assert_eq!(outcome(&ended), Some(in_doubt));
    let note = r#"note CorrectionFailed correction 7, owns "web": update: the external system answers with an error; it is tried again"#;
    assert_eq!(bench.log(), ["POST /proxies/web u-1-8-update", note]);
}

#[tokio::test]
async fn an_object_that_is_deleted_before_the_claim_is_not_held_and_nothing_is_sent() {
    let bench = unclaimed().await;
    let lean = bench.lean();
    bench.state.lock().unwrap().object.as_mut().unwrap()["metadata"]["deletionTimestamp"] =
        json!("2026-01-02T00:00:00Z");
    let (_, ended) = bench.hands.work(lean, Work::Correct(bench.order(Action::Create, true, true))).await;
    assert!(matches!(ended, Ended::CalledOff), "{ended:?}");
    assert_eq!(bench.log(), ["add finalizer (does not apply)"]);
}

#[tokio::test]
async fn an_object_that_was_edited_before_the_claim_is_not_claimed_and_nothing_is_sent() {
    let bench = unclaimed().await;
    let lean = bench.lean();
    bench.state.lock().unwrap().object.as_mut().unwrap()["metadata"]["generation"] = json!(9);
    let (_, ended) = bench.hands.work(lean, Work::Correct(bench.order(Action::Create, true, true))).await;
    assert!(matches!(ended, Ended::CalledOff), "{ended:?}");
    assert_eq!(bench.log(), ["add finalizer"]);
}

#[tokio::test]
async fn a_verdict_that_changes_under_the_claim_takes_the_claim_back_before_anything_is_sent() {
    let note = condition("driftCorrected", "False", "CorrectionFailed", "correction 7: refused");
    let bench = Bench::new(object(&verdict("NotUpdated", 7), Some(&note)), "Adopt").await;
    let order = bench.order(Action::Update, true, false);
    bench.replace(|line, object| {
        if line.starts_with("note CorrectionStarted") {
            object["status"]["conditions"][0]["status"] = json!("False");
            object["status"]["conditions"][0]["reason"] = json!("InSync");
        }
        None
    });
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(order)).await;
    assert!(matches!(ended, Ended::CalledOff), "{ended:?}");
    assert_eq!(
        bench.log(),
        [
            r#"note CorrectionStarted correction 7, owns "web": adopting the external resource"#,
            "note CorrectionFailed correction 7: refused",
        ]
    );
}

#[tokio::test]
async fn the_outcome_is_noted_in_the_end_however_often_the_api_server_fails() {
    let bench = owned("FieldsDiffer").await;
    let mut failures = 9;
    bench.replace(move |line, object| {
        if !line.starts_with("note") || failures == 0 {
            return None;
        }
        if failures == 9 {
            // Only from here on nothing comes by a real socket, for which a paused clock would not wait.
            tokio::time::pause();
        }
        failures -= 1;
        // Another writer moves our entry, then the API server is away, then it refuses.
        bump(object);
        Some([StatusCode::CONFLICT, StatusCode::SERVICE_UNAVAILABLE, StatusCode::FORBIDDEN][failures % 3])
    });
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Update, false, false))).await;
    let Ended::Corrected { status: Some(status), .. } = ended else { panic!("{ended:?}") };
    assert_eq!(status.message(), r#"correction 8, owns "web": updated"#);
    let log = bench.log();
    assert_eq!(log.iter().filter(|line| line.starts_with("POST")).count(), 1, "sent once: {log:#?}");
    assert_eq!(log.len(), 11);
}

#[tokio::test]
async fn a_number_that_another_leader_has_noted_meanwhile_is_not_noted_again() {
    let bench = owned("FieldsDiffer").await;
    bench.replace(|line, object| {
        if line.starts_with("POST") {
            object["status"]["conditions"][1]["message"] = json!(r#"correction 8, owns "web": updated elsewhere"#);
        }
        None
    });
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Update, false, false))).await;
    assert_eq!(outcome(&ended), Some(Outcome::Applied));
    let refused = r#"note CorrectionApplied correction 8, owns "web": updated (does not apply)"#;
    assert_eq!(bench.log(), ["POST /proxies/web u-1-8-update", refused]);
}

#[tokio::test]
async fn a_step_in_flight_is_cut_off_when_the_lease_is_lost_and_nothing_more_is_written() {
    let bench = owned("FieldsDiffer").await;
    let term = bench.stop_lease.clone();
    // CONTINUE: the external system never answers.
    bench.replace(move |line, _| {
        line.starts_with("POST").then(|| {
            term.cancel();
            StatusCode::CONTINUE
        })
    });
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Update, false, false))).await;
    let cut_off = Outcome::Doubtful { why: Doubt::CutOff, retry_after: None, step: 0 };
    assert_eq!(outcome(&ended), Some(cut_off));
    assert_eq!(bench.log(), ["POST /proxies/web u-1-8-update"]);
}

#[tokio::test]
async fn without_the_lease_nothing_is_sent_at_all() {
    let bench = owned("FieldsDiffer").await;
    bench.stop_lease.cancel();
    bench.hands.steps.term.cancelled().await;
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Update, false, false))).await;
    assert!(matches!(ended, Ended::CalledOff), "{ended:?}");
    assert!(bench.log().is_empty());
}

#[tokio::test]
async fn no_further_step_begins_once_the_program_is_to_end_and_what_was_done_is_noted_as_in_doubt() {
    let bench = unclaimed().await;
    let stop = bench.hands.steps.stop.clone();
    bench.replace(move |line, _| {
        line.starts_with("POST").then(|| {
            stop.cancel();
            StatusCode::CREATED
        })
    });
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Create, true, false))).await;
    let cut_off = Outcome::Doubtful { why: Doubt::CutOff, retry_after: None, step: 1 };
    assert_eq!(outcome(&ended), Some(cut_off));
    let log = bench.log();
    assert_eq!(log[1], "POST /proxies u-1-1");
    assert!(log[2].starts_with(r#"note CorrectionFailed owns "web""#) && log.len() == 3, "{log:#?}");
}

#[tokio::test]
async fn a_host_pauses_once_three_objects_were_told_to_wait() {
    let bench = owned("FieldsDiffer").await;
    bench.replace(|line, _| line.starts_with("POST").then_some(StatusCode::TOO_MANY_REQUESTS));
    for uid in ["u-1", "u-2", "u-3"] {
        bench.state.lock().unwrap().object.as_mut().unwrap()["metadata"]["uid"] = json!(uid);
        let order = bench.order(Action::Update, false, false);
        let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(order)).await;
        assert!(matches!(outcome(&ended), Some(Outcome::Doubtful { why: Doubt::RateLimited, .. })), "{ended:?}");
    }
    let before = bench.log();
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Create, true, true))).await;
    assert!(matches!(ended, Ended::Postponed(_)), "{ended:?}");
    assert_eq!(bench.log(), before);
}

#[tokio::test]
async fn a_deletion_needs_no_wish_that_can_be_told() {
    let bench = owned("FieldsDiffer").await;
    bench.state.lock().unwrap().object.as_mut().unwrap()["spec"] = json!({});
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Delete, false, false))).await;
    assert_eq!(outcome(&ended), Some(Outcome::Applied));
    assert_eq!(bench.log(), ["DELETE /proxies/web u-1-8-delete"]);
}

#[tokio::test]
async fn a_deletion_ends_with_its_last_step_and_writes_no_note() {
    let bench = owned("FieldsDiffer").await;
    let (_, ended) = bench.hands.work(bench.lean(), Work::Correct(bench.order(Action::Delete, false, false))).await;
    assert!(matches!(ended, Ended::Corrected { outcome: Outcome::Applied, status: None, .. }), "{ended:?}");
    assert_eq!(bench.log(), ["DELETE /proxies/web u-1-8-delete"]);
}

#[tokio::test]
async fn the_finalizer_is_released_where_it_stands_and_the_others_stay() {
    let bench = owned("FieldsDiffer").await;
    bench.state.lock().unwrap().object.as_mut().unwrap()["metadata"]["finalizers"] = json!(["a", FINALIZER, "b"]);
    let (newest, _) = bench.hands.work(bench.lean(), Work::ReleaseFinalizer { left_behind: true }).await;
    let Newest::State(object) = newest else { panic!("{newest:?}") };
    assert_eq!(object.finalizers, ["a", "b"]);
}
