use super::*;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::fixtures::{at, bare_object, correction, doubtful as unsent, doubtful_until, owns, status};
use serde_json::json;

fn doubtful(retry_after: Option<u64>) -> Outcome {
    doubtful_until(Doubt::NoAnswer, retry_after.map(Duration::from_secs))
}

#[test]
fn a_request_after_a_create_in_doubt_outlives_its_process() {
    use crate::engine::fixtures::{Scene, owns};
    for (reason, request, expected) in [
        (CorrectedReason::CreationInDoubt, "2026-01-01T00:00:01Z", true),
        (CorrectedReason::CreationInDoubt, "2026-01-01T00:00:00Z", false),
        (CorrectedReason::CreationInDoubt, "monday", false),
        (CorrectedReason::AttemptsExhausted, "2026-01-01T00:00:01Z", false),
    ] {
        let scene = Scene::new().corrected(reason, 8, owns("db"));
        let scene = scene.with(|scene| scene.object.asked.get_or_insert_default().retry = Some(request.into()));
        let memory = ObjectMemory::of(&scene.object, Moment::START);
        assert_eq!(memory.retry_is_requested(Some(request)), expected, "{reason} {request}");
    }
}

#[test]
fn a_war_backs_off_by_its_last_ten_minutes() {
    let mut memory = ObjectMemory::new(at(0), None);
    let mut now = at(0);
    let mut begun = Vec::new();
    for _ in 0..9 {
        now = now.max(memory.delay.ready_at(0, now));
        begun.push(now.since_start().as_secs());
        memory.begin(now, None);
        memory.finish(&correction(Action::Update), &Outcome::Applied, now);
    }
    assert_eq!(begun, [0, 0, 2, 8, 26, 80, 242, 542, 842]);
}

/// Returns the start times of eight corrections if the object is edited after each of them.
fn corrections_of_edits(
    generation: impl Fn(u64) -> Option<i64>,
    desired_hash: impl Fn(u64) -> Option<DesiredHash>,
) -> Vec<u64> {
    let mut memory = ObjectMemory::new(at(0), None);
    let mut now = at(0);
    let mut begun = Vec::new();
    for edit in 0..8 {
        let object = LeanObject { generation: generation(edit), ..bare_object() };
        memory.observe(&object, desired_hash(edit), 10, now);
        now = now.max(memory.delay.ready_at(0, now));
        begun.push(now.since_start().as_secs());
        memory.begin(now, None);
        memory.finish(&correction(Action::Update), &Outcome::Applied, now);
        now += Duration::from_secs(1);
    }
    begun
}

#[test]
fn an_edit_waits_for_eighteen_seconds_at_most() {
    let desired_of = |edit: u64| Some(DesiredHash::of(&json!(edit)));
    let same = |_| Some(DesiredHash::of(&json!("same")));
    let generation_of = |edit: u64| i64::try_from(edit).ok();
    let (edits, a_war) = ([0, 1, 3, 9, 27, 45, 63, 81], [0, 1, 3, 9, 27, 81, 243, 543]);
    assert_eq!(corrections_of_edits(generation_of, desired_of), edits);
    assert_eq!(corrections_of_edits(|_| None, desired_of), edits, "a kind without generation");
    assert_eq!(corrections_of_edits(|_| Some(1), same), a_war, "no edit at all");
    assert_eq!(corrections_of_edits(|_| Some(1), desired_of), a_war, "an edit of the target");
    assert_eq!(corrections_of_edits(generation_of, same), a_war, "an edit of what the target does not read");
}

#[test]
fn an_edit_ends_long_pauses_and_no_doubt() {
    let desired_hash = |text: &str| Some(DesiredHash::of(&json!(text)));
    let edited = LeanObject { generation: Some(4), ..bare_object() };
    let deleting = LeanObject { deleting: true, ..bare_object() };
    for (after, hash_after) in [(edited, desired_hash("b")), (deleting, desired_hash("a"))] {
        let mut memory = ObjectMemory::new(at(0), None);
        memory.observe(&bare_object(), desired_hash("a"), 10, at(0));
        for _ in 0..8 {
            memory.begin(at(1000), None);
            memory.finish(&correction(Action::Update), &doubtful(None), at(1000));
        }
        assert_eq!(memory.delay.ready_at(0, at(1001)), at(1300));
        memory.observe(&after, hash_after, 10, at(1001));
        assert_eq!(memory.delay.ready_at(0, at(1001)), at(1018));
        assert!(memory.delay.is_in_doubt(), "the key of the next try is the same");
    }
}

#[test]
fn an_ineffective_correction_backs_off_after_a_restart_too() {
    let memory = ObjectMemory::new(at(100), None);
    assert_eq!(memory.delay.ready_at(0, at(100)), at(100));
    assert_eq!(memory.delay.ready_at(1, at(100)), at(100));
    assert_eq!(memory.delay.ready_at(4, at(100)), at(118));
}

#[test]
fn doubtful_outcomes_follow_the_series_and_obey_retry_after() {
    let mut memory = ObjectMemory::new(at(0), None);
    for _ in 0..7 {
        memory.begin(at(1000), None);
        memory.finish(&correction(Action::Update), &doubtful(None), at(1000));
    }
    assert_eq!(memory.delay.ready_at(0, at(5000)), at(1300));
    memory.finish(&correction(Action::Update), &doubtful(Some(900)), at(1000));
    assert_eq!(memory.delay.ready_at(0, at(5000)), at(1900));
    memory.delay.end_doubt();
    assert!(!memory.delay.is_in_doubt());
    assert_eq!(memory.delay.ready_at(0, at(5000)), at(1000));
}

/// Simulates a correction that begins and cannot be sent.
fn send_nothing(memory: &mut ObjectMemory, now: Moment) {
    memory.begin(now, None);
    memory.finish(&correction(Action::Update), &unsent(Doubt::CredentialUnavailable), now);
}

#[test]
fn what_sends_nothing_waits_half_a_minute_at_most() {
    let mut memory = ObjectMemory::new(at(0), None);
    let waits: Vec<u64> = (0..8)
        .map(|try_number| {
            let now = at(1000 * (try_number + 1));
            send_nothing(&mut memory, now);
            assert_eq!(memory.delay.ready_at(0, now), at(0), "it takes no place on the ladder");
            memory.unsent_until(None, now).unwrap().since_start().as_secs() - now.since_start().as_secs()
        })
        .collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30]);
    assert!(memory.delay.send_anew() && !memory.delay.send_anew(), "told once");
    assert_eq!(memory.unsent_until(None, at(8000)), None);
}

#[test]
fn what_sends_nothing_changes_no_pause_and_no_doubt() {
    let mut memory = ObjectMemory::new(at(0), None);
    for _ in 0..5 {
        memory.begin(at(1000), None);
        memory.finish(&correction(Action::Update), &doubtful(None), at(1000));
    }
    send_nothing(&mut memory, at(1060));
    assert_eq!(memory.delay.ready_at(0, at(1060)), at(1054), "as before it");
    assert!(memory.delay.is_in_doubt());
    memory.begin(at(1061), None);
    memory.finish(&correction(Action::Update), &Outcome::Applied, at(1061));
    assert_eq!(memory.unsent_until(None, at(1061)), None, "what was sent ends the wait");
}

#[test]
fn a_retry_request_is_tried_once_and_kept_until_sent() {
    let mut memory = ObjectMemory::new(at(0), None);
    send_nothing(&mut memory, at(10));
    assert_eq!(memory.unsent_until(None, at(10)), Some(at(11)));
    assert_eq!(memory.unsent_until(Some("now"), at(10)), None);
    memory.begin(at(10), Some("now"));
    memory.finish(&correction(Action::Update), &unsent(Doubt::TemplateFails), at(10));
    assert_eq!(memory.unsent_until(Some("now"), at(10)), Some(at(12)), "it was tried");
    assert!(memory.retry_is_requested(Some("now")), "and not answered");
    memory.begin(at(12), Some("now"));
    memory.finish(&correction(Action::Update), &Outcome::Applied, at(12));
    assert!(!memory.retry_is_requested(Some("now")));
}

/// Returns the memory of a drifted object after four corrections at second 100, and the object with this retry request.
fn delayed(outcome: &Outcome, request: &str) -> (ObjectMemory, LeanObject) {
    use crate::engine::fixtures::Scene;
    let scene = Scene::new().observed(ObservedReason::FieldsDiffer);
    let mut memory = ObjectMemory::of(&scene.object, at(0));
    for _ in 0..4 {
        memory.begin(at(100), None);
        memory.finish(&correction(Action::Update), outcome, at(100));
    }
    let asked = scene.with(|scene| scene.object.asked.get_or_insert_default().retry = Some(request.into()));
    (memory, asked.object)
}

#[test]
fn a_retry_request_ends_one_pause() {
    let (mut memory, asked) = delayed(&Outcome::Applied, "now");
    assert_eq!(memory.delay.ready_at(0, at(101)), at(118));
    memory.observe(&asked, None, 10, at(101));
    assert!(memory.delay.ready_at(0, at(101)) <= at(101));
    memory.begin(at(101), Some("now"));
    memory.finish(&correction(Action::Update), &Outcome::Applied, at(101));
    memory.observe(&asked, None, 10, at(102));
    assert_eq!(memory.delay.ready_at(0, at(102)), at(155), "the same request");
}

#[test]
fn a_retry_request_ends_no_doubt_and_no_requested_delay() {
    for (outcome, until) in [(doubtful(None), 118), (doubtful(Some(60)), 160)] {
        let (mut memory, asked) = delayed(&outcome, "now");
        memory.observe(&asked, None, 10, at(101));
        assert_eq!(memory.delay.ready_at(0, at(101)), at(until), "{outcome:?}");
        assert!(memory.delay.is_in_doubt());
    }
    let (mut memory, asked) = delayed(&Outcome::Applied, "now");
    memory.delay.hold_until(at(130));
    memory.observe(&asked, None, 10, at(101));
    assert_eq!(memory.delay.ready_at(0, at(101)), at(130));
}

#[test]
fn a_retry_request_in_sync_hastens_nothing_later() {
    let (mut memory, asked) = delayed(&Outcome::Applied, "now");
    let synced = crate::engine::fixtures::Scene::new().observed(ObservedReason::InSync).object;
    memory.observe(&LeanObject { asked: asked.asked.clone(), ..synced }, None, 10, at(101));
    memory.observe(&asked, None, 10, at(102));
    assert_eq!(memory.delay.ready_at(0, at(102)), at(118));
}

#[test]
fn the_first_retry_request_seen_is_old() {
    let mut memory = ObjectMemory::new(at(0), Some("a"));
    assert!(!memory.retry_is_requested(Some("a")));
    assert!(!memory.retry_is_requested(None));
    assert!(memory.retry_is_requested(Some("b")));
    memory.begin(at(1), Some("b"));
    memory.finish(&correction(Action::Update), &Outcome::Applied, at(1));
    assert!(!memory.retry_is_requested(Some("b")));
}

#[test]
fn a_retry_that_was_called_off_is_still_asked_for() {
    let mut memory = ObjectMemory::new(at(0), None);
    memory.begin(at(1), Some("b"));
    assert!(memory.retry_is_requested(Some("b")), "it has not ended");
    memory.call_off();
    memory.finish(&correction(Action::Update), &Outcome::Applied, at(2));
    assert!(memory.retry_is_requested(Some("b")));
}

#[test]
fn only_the_claims_of_a_removed_target_are_forgotten() {
    let mut memory = ObjectMemory::new(at(0), None);
    memory.land_outcome(status(3, owns("db")).keeping(CorrectedReason::CorrectionApplied, "updated", Some(3)));
    (0..4).for_each(|_| memory.begin(at(1000), None));
    assert_eq!(memory.status_of(&bare_object()).claim, owns("db"));
    memory.forget_status();
    assert_eq!(memory.status_of(&bare_object()), CorrectionStatus::default());
    assert_eq!(memory.delay.ready_at(0, at(1000)), at(1018));
}
