use super::*;
use crate::engine::fixtures::{self, TEXT, at, target};
use crate::engine::judgement::finding::{Failure, Finding};
use crate::engine::writes::write_attempts::{Refusal, UNWRITTEN_AFTER, WriteOutcome};
use drift_api::attestation::MOST_EXCEPTIONS;
use drift_api::condition::ObservedReason;
use drift_api::unwritten::UnwrittenWord;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Returns the message of a verdict on an object with that id and the desired `a: 1`.
fn tag(id: &str) -> String {
    format!("x [desired {}]", drift_api::condition::DesiredHash::of(&json!([id, {"a": 1}])))
}

fn objects() -> ObjectStore {
    ObjectStore::new(target(TEXT))
}

fn object(objects: &ObjectStore, uid: &str, spec: &Value, status: &Value) -> LeanObject {
    fixtures::object(&objects.target, uid, spec, status)
}

/// Returns true if the target is attested without exceptions.
fn is_attested(objects: &ObjectStore, now: Moment) -> bool {
    objects.attested_except(now).is_some_and(|except| except.is_empty())
}

fn reason(objects: &mut ObjectStore, uid: &str, now: Moment) -> Option<ObservedReason> {
    objects.update(&Uid::from(uid), now, |state| state.due_verdict(now)).flatten().map(|verdict| verdict.reason)
}

#[test]
fn objects_that_are_rejected_get_their_unknown_without_a_poll() {
    let mut objects = objects();
    for (uid, spec, expected) in [
        ("a", json!({"id": "forbidden", "a": 1}), ObservedReason::NotAllowed),
        ("b", json!({"id": "x", "a": 1, "asleep": true}), ObservedReason::Suspended),
        ("c", json!({"id": "y"}), ObservedReason::RuleError),
        ("d", json!({"a": 1}), ObservedReason::RuleError),
    ] {
        let object = object(&objects, uid, &spec, &json!({}));
        objects.see(object, at(0));
        assert_eq!(reason(&mut objects, uid, at(0).moment), Some(expected), "{spec}");
        assert!(objects.state(&Uid::from(uid)).unwrap().poll_due().is_none());
    }
}

#[test]
fn a_template_that_fails_names_its_place_and_the_mistake() {
    let mut objects = objects();
    let object = object(&objects, "a", &json!({"a": 1}), &json!({}));
    objects.see(object, at(0));
    let rejected = objects.state(&Uid::from("a")).and_then(|state| state.rendered().rejected.clone());
    let text = rejected.map(|failure| failure.text).unwrap_or_default();
    assert!(text.ends_with(": require[0].that: no field `id`"), "{text}");
}

#[test]
fn a_result_of_an_object_made_anew_lands_nowhere() {
    let mut objects = objects();
    let (old, new) = (Uid::from("a"), Uid::from("ab"));
    let object = |objects: &ObjectStore, uid| object(objects, uid, &json!({"id": "x", "a": 1}), &json!({}));
    let before = object(&objects, "a");
    objects.see(before, at(0));
    let begun = objects.update(&old, at(1).moment, |state| state.begin_poll(at(1))).unwrap();
    objects.forget(&old);
    let anew = object(&objects, "ab");
    objects.see(anew, at(2));
    let late = objects.update(&old, at(3).moment, |state| state.finish_poll(begun, Finding::InSync, at(3).moment));
    assert_eq!((late, reason(&mut objects, "ab", at(3).moment)), (None, None));
    assert!(objects.state(&new).unwrap().poll_due().is_some_and(|due| due <= at(3).moment), "polled on its own");
}

#[test]
fn a_poll_from_before_an_absence_counts_for_nothing() {
    let mut objects = objects();
    let uid = Uid::from("a");
    let object = object(&objects, "a", &json!({"id": "x", "a": 1}), &json!({}));
    objects.see(object.clone(), at(0));
    let old = objects.update(&uid, at(1).moment, |state| state.begin_poll(at(1))).unwrap();
    objects.forget(&uid);
    objects.see(object, at(3));
    let finish = |objects: &mut ObjectStore, begun, finding, now: Moment| {
        objects.update(&uid, now, |state| state.finish_poll(begun, finding, now));
        reason(objects, "a", now)
    };
    assert_eq!(finish(&mut objects, old, Finding::InSync, at(3).moment), None, "before its own poll has begun");
    let own = objects.update(&uid, at(4).moment, |state| state.begin_poll(at(4))).unwrap();
    assert_eq!(finish(&mut objects, old, Finding::InSync, at(5).moment), None, "while its own is under way");
    let cause = Failure::of(ObservedReason::RateLimited);
    objects.update(&uid, at(5).moment, |state| state.postpone_poll(Some(old), at(9).moment, cause));
    assert_eq!(objects.state(&uid).unwrap().poll_due(), None, "its own poll is under way still");
    let differs = Finding::Differs("1 field differs: /a".into());
    assert_eq!(finish(&mut objects, own, differs, at(6).moment), Some(ObservedReason::NotUpdated));
}

/// An object in sync with the exact message of the current verdict.
fn in_sync(objects: &ObjectStore, uid: &str, spec: &Value) -> LeanObject {
    let message = tag(uid).replace('x', drift_api::condition::closed_text(ObservedReason::InSync));
    let status = json!({"conditions": [{"type": "driftObserved", "status": "False", "reason": "InSync", "message": message, "observedGeneration": 1}]});
    object(objects, uid, spec, &status)
}

/// Queues all due objects like the shell does, and returns them.
fn queue_awake(objects: &mut ObjectStore, now: Moment) -> Vec<Uid> {
    let mut awake = Vec::new();
    while let Some(uid) = objects.pop_awake(now).filter(|_| awake.len() < 10) {
        objects.queue_poll(&uid);
        objects.update(&uid, now, |_| ());
        awake.push(uid);
    }
    awake
}

#[test]
fn an_edited_object_moves_to_the_prompt_line() {
    let mut objects = objects();
    for uid in &["a", "bb"].map(Uid::from) {
        let object = in_sync(&objects, uid, &json!({"id": **uid, "a": 1}));
        objects.see(object, at(0));
        // Changes missed in a takeover are polled once; the next poll is a regular one.
        let begun = objects.update(uid, at(0).moment, |state| state.begin_poll(at(0))).unwrap();
        objects.update(uid, at(0).moment, |state| state.finish_poll(begun, Finding::InSync, at(0).moment));
    }
    let now = at(31).moment;
    let in_line: [Uid; 2] = queue_awake(&mut objects, now).try_into().unwrap();
    let [first, last] = in_line;
    let mut edited = in_sync(&objects, &last, &json!({"id": *last, "a": 2}));
    edited.resource_version = "2".into();
    objects.see(edited, at(31));
    assert_eq!(queue_awake(&mut objects, now), std::slice::from_ref(&last), "woken once");
    assert_eq!([take_turn(&mut objects, at(31)), take_turn(&mut objects, at(31))], [Some(last), Some(first)]);
    assert_eq!(objects.next_poll(now), None);
}

/// Takes the next turn.
fn take_turn(objects: &mut ObjectStore, now: Now) -> Option<Uid> {
    let turn = objects.next_poll(now.moment)?;
    objects.begin_poll(&turn, now)?;
    Some(turn.uid)
}

/// Queues an object for a regular poll.
fn queue_regular(objects: &mut ObjectStore, uid: &str) {
    let object = in_sync(objects, uid, &json!({"id": uid, "a": 1}));
    objects.see(object, at(0));
    let uid = Uid::from(uid);
    // Changes missed in a takeover are polled once; the next poll is a regular one.
    let begun = objects.update(&uid, at(0).moment, |state| state.begin_poll(at(0))).unwrap();
    objects.update(&uid, at(0).moment, |state| state.finish_poll(begun, Finding::InSync, at(0).moment));
    objects.queue_poll(&uid);
}

#[test]
fn of_four_turns_prompt_polls_take_three() {
    let mut objects = objects();
    ["regular-0", "regular-1"].iter().for_each(|uid| queue_regular(&mut objects, uid));
    for number in 0..8 {
        let uid = format!("prompt-{number}");
        let object = object(&objects, &uid, &json!({"id": uid, "a": 1}), &json!({}));
        objects.see(object, at(31));
        objects.queue_poll(&uid.as_str().into());
    }
    let turns: Vec<_> = std::iter::from_fn(|| take_turn(&mut objects, at(31))).collect();
    let regular: Vec<_> = (0..turns.len()).filter(|turn| turns[*turn].starts_with("regular")).collect();
    assert_eq!((regular, turns.len()), (vec![3, 7], 10), "{turns:?}");
}

#[test]
fn a_target_is_attested_for_once_all_are_judged() {
    let mut objects = objects();
    let entry = |status: &str, reason: &str, id: &str| json!({"conditions": [{"type": "driftObserved", "status": status, "reason": reason, "message": tag(id), "observedGeneration": 1}]});
    for (uid, id, status, reason) in [("a", "x", "True", "NotCreated"), ("bb", "y", "False", "InSync")] {
        let object = object(&objects, uid, &json!({"id": id, "a": 1}), &entry(status, reason, id));
        objects.see(object, at(0));
    }
    assert!(!is_attested(&objects, at(0).moment), "before the list is known");
    objects.note_listed(at(0).moment);
    assert!(!is_attested(&objects, at(0).moment), "while an object stands True on another's word");
    let uid = Uid::from("a");
    assert_eq!(objects.state(&uid).unwrap().poll_due(), Some(at(0).moment), "it is polled at once");
    let begun = objects.update(&uid, at(0).moment, |state| state.begin_poll(at(0))).unwrap();
    objects.update(&uid, at(0).moment, |state| state.finish_poll(begun, Finding::Absent, at(0).moment));
    // The sentence differs from the old one, so the verdict is not current until it is written.
    assert!(!is_attested(&objects, at(0).moment));
    objects.forget(&uid);
    assert!(is_attested(&objects, at(1).moment));
    assert!(!is_attested(&objects, at(1).moment + WATCH_ALIVE_FOR), "when the watch may be dead");
    objects.note_alive(at(200).moment);
    assert!(is_attested(&objects, at(200).moment));
}

#[test]
fn settling_puts_off_a_poll_in_line() {
    let text = TEXT.replace("  compare:", "  correct: {settle: 10s}\n  compare:");
    let mut objects = ObjectStore::new(target(&text));
    let uid = Uid::from("a");
    let spec = json!({"id": "x", "a": 1});
    let current = object(&objects, "a", &spec, &json!({}));
    objects.see(current, at(0));
    objects.queue_poll(&uid);
    let note = json!({"conditions": [{"type": "driftCorrected", "status": "True", "reason": "CorrectionApplied",
        "message": "correction 1, owns \"x\": applied", "observedGeneration": 1}]});
    let mut corrected = object(&objects, "a", &spec, &note);
    corrected.resource_version = "2".into();
    objects.see(corrected, at(1));
    assert_eq!(objects.next_poll(at(3).moment), None, "polled before the correction has settled");
    assert_eq!(objects.pop_awake(at(10).moment), None);
    assert_eq!(objects.pop_awake(at(11).moment), Some(uid.clone()), "nobody wakes it");
    objects.queue_poll(&uid);
    assert_eq!(take_turn(&mut objects, at(11)), Some(uid));
}

#[test]
fn an_object_in_line_for_its_write_sleeps() {
    let mut objects = objects();
    let object = object(&objects, "a", &json!({"id": "forbidden", "a": 1}), &json!({}));
    let uid = Uid::from("a");
    objects.see(object, at(0));
    assert_eq!(objects.pop_awake(at(0).moment), Some(uid.clone()), "its NotAllowed is to be written");
    objects.queue_write(&uid, at(0).moment);
    objects.queue_write(&uid, at(0).moment);
    assert_eq!(objects.pop_awake(at(9).moment), None);
    assert_eq!((objects.next_write(), objects.next_write()), (Some(uid.clone()), None));
    objects.queue_write(&uid, at(9).moment);
    objects.forget(&uid);
    assert_eq!(objects.next_write(), None, "it left");
}

#[test]
fn a_changed_target_waits_for_all_new_verdicts() {
    let mut objects = objects();
    let tag =
        |uid: &str, a: u32| format!("x [desired {}]", drift_api::condition::DesiredHash::of(&json!([uid, {"a": a}])));
    let entry = |uid, a, generation| json!({"conditions": [{"type": "driftObserved", "status": "False", "reason": "InSync", "message": tag(uid, a), "observedGeneration": generation}]});
    for (uid, desired, generation) in [("a", 1, 1), ("bb", 2, 1), ("ccc", 2, 0)] {
        let object = object(&objects, uid, &json!({"id": uid, "a": 1}), &entry(uid, desired, generation));
        objects.see(object, at(0));
    }
    objects.note_listed(at(0).moment);
    assert!(!is_attested(&objects, at(0).moment), "bb was in sync with what the target said before");
    let uid = Uid::from("bb");
    let begun = objects.update(&uid, at(0).moment, |state| state.begin_poll(at(0))).unwrap();
    let differs = Finding::Differs("x".into());
    objects.update(&uid, at(0).moment, |state| state.finish_poll(begun, differs, at(0).moment));
    assert!(!is_attested(&objects, at(0).moment), "before the verdict is written");
    assert_eq!(reason(&mut objects, "bb", at(0).moment), Some(ObservedReason::FieldsDiffer));
    objects.forget(&uid);
    assert!(is_attested(&objects, at(1).moment), "ccc was edited, which is no incident");
}

/// An object store whose objects were True before this process began. All were found in sync since, which
/// is not written.
fn owing(count: usize) -> ObjectStore {
    let mut objects = objects();
    for number in 0..count {
        let uid = format!("u{number}");
        let current = json!({"conditions": [{"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "message": tag(&uid), "observedGeneration": 1}]});
        let object = object(&objects, &uid, &json!({"id": uid, "a": 1}), &current);
        objects.see(object, at(0));
        let uid = Uid::from(uid);
        let begun = objects.update(&uid, at(0).moment, |state| state.begin_poll(at(0))).unwrap();
        objects.update(&uid, at(0).moment, |state| state.finish_poll(begun, Finding::InSync, at(0).moment));
    }
    objects.note_listed(at(0).moment);
    objects
}

fn refused() -> WriteOutcome {
    WriteOutcome::Refused(Refusal { sentence: String::new(), word: UnwrittenWord::RightsMissing })
}

fn refuse_write(objects: &mut ObjectStore, uid: &Uid, now: Moment) {
    fail_write(objects, uid, &refused(), now);
}

fn fail_write(objects: &mut ObjectStore, uid: &Uid, outcome: &WriteOutcome, now: Moment) {
    objects.update(uid, now, |state| {
        state.begin_write(now, "").unwrap();
        state.finish_write(outcome, now);
    });
}

#[test]
fn a_refused_verdict_keeps_back_only_its_object() {
    let mut objects = owing(2);
    let [first, second] = ["u0", "u1"].map(Uid::from);
    assert_eq!(objects.attested_except(at(0).moment), None, "both are on their way");
    refuse_write(&mut objects, &first, at(0).moment);
    assert_eq!(objects.attested_except(at(0).moment), None, "the second is on its way");
    objects.forget(&second);
    assert_eq!(objects.attested_except(at(1).moment), Some(Exceptions::from_iter([first.clone()])));
    assert_eq!(objects.attested_except(at(1).moment + WATCH_ALIVE_FOR), None, "when the watch may be dead");
    objects.forget(&first);
    assert_eq!(objects.attested_except(at(2).moment), Some(Exceptions::default()));
}

#[test]
fn an_unwritten_change_takes_back_the_attestation() {
    let (now, uid) = (at(10).moment, Uid::from("a"));
    let message = tag("x").replacen('x', drift_api::condition::closed_text(ObservedReason::InSync), 1);
    let in_sync = json!({"conditions": [{"type": "driftObserved", "status": "False", "reason": "InSync", "message": message, "observedGeneration": 1}]});
    for (outcome, at_once) in [(refused(), true), (WriteOutcome::Unavailable, false), (WriteOutcome::Moved, false)] {
        let mut objects = objects();
        let object = object(&objects, "a", &json!({"id": "x", "a": 1}), &in_sync);
        objects.see(object.clone(), at(0));
        objects.note_listed(at(0).moment);
        let poll = |objects: &mut ObjectStore, finding: Finding, now: Now| {
            let begun = objects.update(&uid, now.moment, |state| state.begin_poll(now)).unwrap();
            objects.update(&uid, now.moment, |state| state.finish_poll(begun, finding, now.moment));
        };
        poll(&mut objects, Finding::InSync, at(1));
        assert!(is_attested(&objects, now), "an unchanged verdict is true");
        for seconds in 8..=10 {
            poll(&mut objects, Finding::Differs("x".into()), at(seconds));
        }
        fail_write(&mut objects, &uid, &outcome, now);
        let excepted = Some(Exceptions::from_iter([uid.clone()]));
        assert_eq!(objects.attested_except(now) == excepted, at_once, "{outcome:?}");
        assert!(objects.next_wake().is_some_and(|wake| wake <= now + UNWRITTEN_AFTER));
        let later = now + UNWRITTEN_AFTER;
        objects.update(&uid, later, |_| {});
        assert_eq!(objects.attested_except(later), excepted, "{outcome:?}");
        let word = if at_once { UnwrittenWord::RightsMissing } else { UnwrittenWord::WriteRefused };
        assert!(objects.unwritten().is_some_and(|one| one.word == word && one.uids.contains(&uid)), "{outcome:?}");
        poll(&mut objects, Finding::InSync, at(45));
        assert!(is_attested(&objects, at(45).moment) && objects.unwritten().is_none(), "the old verdict is true again");
    }
}

#[test]
fn nothing_is_written_over_words_of_a_newer_version() {
    let (uid, fields) = (Uid::from("a"), json!({"id": "x", "a": 1}));
    let verdict = |message: String| json!({"type": "driftObserved", "status": "False", "reason": "InSync", "message": message, "observedGeneration": 1});
    let newer = verdict(tag("x").replace(']', ", later]"));
    let record = json!({"type": "driftCorrected", "status": "True", "reason": "CorrectionApplied", "message": "correction 1, owns \"x\": created [scope 3f2a9c71, later 9]"});
    for conditions in [json!([newer]), json!([verdict(tag("x")), record])] {
        let mut objects = objects();
        let seen = object(&objects, "a", &fields, &json!({"conditions": conditions}));
        objects.see(seen, at(0));
        objects.note_listed(at(0).moment);
        let poll = |objects: &mut ObjectStore, seconds: u64| {
            let begun = objects.update(&uid, at(seconds).moment, |state| state.begin_poll(at(seconds))).unwrap();
            objects.update(&uid, at(seconds).moment, |state| {
                state.finish_poll(begun, Finding::Differs("x".into()), at(seconds).moment);
                state.due_verdict(at(seconds).moment)
            })
        };
        let writes: Vec<_> = (8..12).map(|seconds| poll(&mut objects, seconds)).collect();
        assert!(writes.iter().flatten().all(Option::is_none), "{writes:?}");
        assert_eq!(objects.attested_except(at(12).moment), Some(Exceptions::from_iter([uid.clone()])));
        assert!(objects.unwritten().is_some_and(|one| one.word == UnwrittenWord::NewerVersion));
        let mut plain = object(&objects, "a", &fields, &json!({"conditions": [verdict(tag("x"))]}));
        plain.resource_version = "2".into();
        objects.see(plain, at(13));
        let writes: Vec<_> = (14..18).map(|seconds| poll(&mut objects, seconds)).collect();
        assert!(writes.iter().flatten().any(Option::is_some), "{writes:?}");
        assert!(objects.unwritten().is_none());
    }
}

/// An object that another writer marked as drifted, in this version.
fn called_drifted(objects: &ObjectStore, uid: &str, version: u32) -> LeanObject {
    let message = format!("said {version} times: {}", tag(uid));
    let status = json!({"conditions": [{"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "message": message, "observedGeneration": 1}]});
    let mut object = object(objects, uid, &json!({"id": uid, "a": 1}), &status);
    object.resource_version = version.to_string().as_str().into();
    object
}

#[test]
fn a_forged_verdict_keeps_back_only_its_object() {
    let mut objects = objects();
    let unknown = object(&objects, "a", &json!({"id": "a", "a": 1}), &json!({}));
    let uid = unknown.id.uid.clone();
    objects.see(unknown, at(0));
    objects.note_listed(at(0).moment);
    for round in 2..100 {
        let now = at(u64::from(round));
        objects.see(called_drifted(&objects, "a", round), now);
        assert_eq!(
            objects.attested_except(now.moment),
            Some(Exceptions::from_iter([uid.clone()])),
            "said {round} times"
        );
    }
    let begun = objects.update(&uid, at(100).moment, |state| state.begin_poll(at(100))).unwrap();
    objects.update(&uid, at(100).moment, |state| state.finish_poll(begun, Finding::InSync, at(100).moment));
    assert_eq!(
        objects.attested_except(at(100).moment),
        Some(Exceptions::from_iter([uid])),
        "until its new verdict stands, it is not acted on"
    );
}

#[test]
fn a_latecomer_keeps_back_only_itself() {
    let mut objects = owing(0);
    for number in 0..=MOST_EXCEPTIONS {
        assert_eq!(objects.attested_except(at(0).moment).map(|except| except.objects.len()), Some(number));
        objects.see(called_drifted(&objects, &format!("u{number}"), 1), at(0));
    }
    assert_eq!(objects.attested_except(at(0).moment), None, "so many are no exceptions");
}

#[test]
fn latecomers_with_another_desired_state_keep_back_their_namespace_alone() {
    let mut objects = owing(0);
    let entry = json!({"type": "driftObserved", "status": "False", "reason": "InSync", "message": "x [desired 3f2a9c71d04b58e6]", "observedGeneration": 1});
    for number in 0..=MOST_EXCEPTIONS {
        assert_eq!(objects.attested_except(at(0).moment).map(|except| except.objects.len()), Some(number));
        let name = format!("u{number}");
        let mut moved = object(&objects, &name, &json!({"id": name, "a": 1}), &json!({"conditions": [entry]}));
        moved.id.namespace = Some("team-a".into());
        objects.see(moved, at(0));
    }
    let namespaces = ["team-a".to_owned()].into();
    assert_eq!(objects.attested_except(at(0).moment), Some(Exceptions { namespaces, ..Exceptions::default() }));
}

#[test]
fn what_stood_true_is_waited_for_whoever_writes() {
    let mut objects = owing(1);
    objects.see(called_drifted(&objects, "u0", 2), at(30));
    assert_eq!(objects.attested_except(at(59).moment), None);
    assert!(objects.attested_except(at(60).moment).is_some());
}

#[test]
fn nobody_waits_over_a_minute_for_a_verdict() {
    let objects = owing(1);
    assert_eq!(objects.attested_except(at(59).moment), None);
    assert_eq!(objects.attested_except(at(60).moment), Some(Exceptions::from_iter([Uid::from("u0")])));
}

#[test]
fn many_that_are_refused_are_no_exceptions() {
    for (count, attested) in [(MOST_EXCEPTIONS, true), (MOST_EXCEPTIONS + 1, false)] {
        let mut objects = owing(count);
        (0..count).for_each(|number| refuse_write(&mut objects, &Uid::from(format!("u{number}")), at(0).moment));
        assert_eq!(objects.attested_except(at(0).moment).is_some(), attested, "{count}");
    }
}

#[test]
fn wakes_come_in_order_and_only_once() {
    let mut objects = objects();
    for number in 0..50 {
        let uid = format!("{number}");
        let current = json!({"conditions": [{"type": "driftObserved", "status": "False", "reason": "InSync", "message": tag(&uid), "observedGeneration": 1}]});
        let object = object(&objects, &uid, &json!({"id": uid, "a": 1}), &current);
        objects.see(object, at(0));
    }
    let mut seen = HashSet::new();
    while let Some(uid) = objects.pop_awake(at(0).moment) {
        objects.queue_poll(&uid);
        seen.insert(uid);
    }
    assert!((10..40).contains(&seen.len()), "at the start only what a takeover may have missed: {}", seen.len());
    while let Some(wake) = objects.next_wake().filter(|wake| *wake <= at(30).moment) {
        let uid = objects.pop_awake(wake).unwrap();
        objects.queue_poll(&uid);
        assert!(seen.insert(uid));
    }
    assert_eq!(seen.len(), 50, "each has its phase within one interval");
    assert_eq!(std::iter::from_fn(|| objects.next_poll(at(30).moment)).count(), 50);
}
