//! Explanations as text and as JSON.

use super::*;
use drift_api::condition::{ObservedReason, Tag, Verdict};
use drift_api::printable::is_printable;
use drift_language::fixtures::proxies::{TEXT, object, target};

fn explanation(held: &[&str], observed: Shown) -> Explanation {
    let target = target(TEXT);
    let object = object(&target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
    let verdict =
        Verdict { reason: ObservedReason::FieldsDiffer, text: "x".into(), tag: Tag::default(), generation: Some(1) };
    let facts = Facts { target: &target, is_deployed: true, object: &object, verdict: &verdict };
    let poll = Poll {
        asked: vec!["GET http://h/x".to_owned(), "accept: x".to_owned()],
        observed,
        causes: vec!["no connection: refused".to_owned()],
        differing: vec!["/a".to_owned()],
    };
    Explanation::new(
        facts,
        poll,
        (vec!["PUT http://h/x".to_owned()], held.iter().map(|held| (*held).to_owned()).collect()),
    )
}

#[test]
fn all_is_told_once_and_then_what_changed() {
    let first = explanation(&["it is paused"], Shown::Present(json!({"a": 2})));
    let text = first.text(None);
    let expected = "Proxy u by target t (c/k)
asked       GET http://h/x
            accept: x
observed    {
              \"a\": 2
            }
differs     /a
verdict     driftObserved True/FieldsDiffer: x
stands      nothing yet
would send  PUT http://h/x
held        it is paused
";
    assert_eq!(text, expected);
    assert_eq!(first.text(Some(&first)), "");
    let second = explanation(&[], Shown::Failed("no answer".to_owned()));
    let changed = second.text(Some(&first));
    assert!(
            changed.starts_with("observed    nothing that can be told: no answer\n            cause: no connection: refused\nfollows     a correction (update)"),
            "{changed}"
        );
}

fn placed(kind: ConditionKind, entry: &Value) -> Placed {
    Placed::new(0, Condition::from_json(kind, entry))
}

#[test]
fn a_condition_has_its_generation_where_it_is_stored() {
    let told = |entry: Value| {
        let target = target(TEXT);
        let mut object = object(&target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
        object.conditions = Conditions::from_status(Some(&json!({"conditions": [entry]})));
        let verdict =
            Verdict { reason: ObservedReason::NotCreated, text: "x".into(), tag: Tag::default(), generation: Some(3) };
        let facts = Facts { target: &target, is_deployed: true, object: &object, verdict: &verdict };
        let poll = Poll { asked: Vec::new(), observed: Shown::Absent, causes: Vec::new(), differing: Vec::new() };
        Explanation::new(facts, poll, (Vec::new(), Vec::new())).text(None)
    };
    let entry = |message: &str| {
        json!({"type": "driftObserved", "status": "True", "reason": "NotCreated", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let tagged = told(entry("no [desired 2f0effaa9ac007e4, generation 2]"));
    assert!(
        tagged.contains("stands      driftObserved True/NotCreated: no [desired 2f0effaa9ac007e4, generation 2] ("),
        "{tagged}"
    );
    assert!(tagged.contains("generation 3]\n"), "{tagged}");
    let mut field = entry("no [desired 2f0effaa9ac007e4]");
    field["observedGeneration"] = json!(2);
    let field = told(field);
    assert!(field.contains("no [desired 2f0effaa9ac007e4] (") && !field.contains("generation"), "{field}");
}

#[test]
fn a_verdict_that_stands_is_said_once() {
    let mut told = explanation(&[], Shown::Absent);
    for (message, expected) in [("x", "the same"), ("y", "y")] {
        let stands = json!({"status": "True", "reason": "FieldsDiffer", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        told.stands = vec![placed(ConditionKind::Observed, &stands)];
        let text = told.text(None);
        let line = format!("stands      driftObserved True/FieldsDiffer: {expected} (status since");
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn a_failure_that_the_verdict_says_is_said_once() {
    for (why, expected) in [("x", "the verdict says why"), ("y", "y")] {
        let mut told = explanation(&[], Shown::Failed(why.to_owned()));
        told.verdict["message"] = json!("x [desired 2f0effaa9ac007e4]");
        let line =
            format!("observed    nothing that can be told: {expected}\n            cause: no connection: refused\n");
        assert!(told.text(None).contains(&line), "{}", told.text(None));
    }
}

#[test]
fn a_condition_that_the_poller_does_not_stand_by_is_in_brackets() {
    let mut told = explanation(&[], Shown::Absent).with_doubt(Some(Doubt::Unattested));
    let stands =
        json!({"status": "False", "reason": "InSync", "message": "x", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    told.stands = [ConditionKind::Observed, ConditionKind::Corrected].map(|kind| placed(kind, &stands)).into();
    let text = told.text(None);
    let said = |kind: &str| format!("{kind} False/InSync: x (status since 2026-01-01T00:00:00Z)");
    assert!(text.contains(&format!("stands      Unattested ({})", said("driftObserved"))), "{text}");
    assert!(text.contains(&format!("            {}\n", said("driftCorrected"))), "{text}");
    assert_eq!(told.json()["doubt"], "Unattested");
}

#[test]
fn no_foreign_text_reaches_the_terminal_as_it_is() {
    let foreign = "a\u{1b}[2J\u{9b}2J\u{202e}b";
    let mut told = explanation(&[foreign], Shown::Present(json!({ foreign: foreign })));
    let stands = json!({"reason": foreign, "message": foreign, "lastTransitionTime": foreign});
    told.stands.push(placed(ConditionKind::Observed, &stands));
    let text = told.text(None).replace('\n', "");
    assert!(text.chars().all(is_printable), "{text:?}");
}

#[test]
fn what_is_being_deleted_has_no_verdict() {
    let (target, verdict) = (
        target(TEXT),
        Verdict { reason: ObservedReason::InSync, text: "x".into(), tag: Tag::default(), generation: Some(1) },
    );
    let mut object = object(&target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
    object.deleting = true;
    object.asked.get_or_insert_default().deletion = 1_767_225_600;
    let facts = Facts { target: &target, is_deployed: true, object: &object, verdict: &verdict };
    let poll =
        Poll { asked: Vec::new(), observed: Shown::Absent, causes: Vec::new(), differing: vec!["/a".to_owned()] };
    let told = Explanation::new(facts, poll, (Vec::new(), Vec::new()));
    let expected = "Proxy u by target t (c/k)
deleting    since 2026-01-01T00:00:00Z
            no finalizer keeps it
            what is being deleted has no verdict: a poll only shows if its external resource is gone
asked       nothing: that is not needed
observed    the external resource is not there
stands      nothing yet
follows     nothing by these programs, which do not hold it: driftpoller.dev/external is not among its finalizers
";
    assert_eq!(told.text(None), expected);
    assert_eq!((told.status(), &told.json()["verdict"]), (ConditionStatus::Unknown, &Value::Null));
    assert_eq!(told.json()["deletion"]["requested"], "2026-01-01T00:00:00Z");
}

#[test]
fn without_a_text_what_stands_is_told() {
    let target = target(TEXT);
    let object = object(&target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
    let trouble = "target t: the text is wrong".to_owned();
    let told = Explanation::unread(trouble, "Proxy", &object);
    let expected = "Proxy u by target unknown (no known text selects it)
asked       nothing: target t: the text is wrong
stands      nothing yet
held        by what its text says; where you have it, -f FILE explains by it
";
    assert_eq!(told.text(None), expected);
    assert_eq!((told.status(), &told.json()["verdict"]), (ConditionStatus::Unknown, &Value::Null));
}

#[test]
fn a_condition_says_when_it_was_last_written() {
    let mut told = explanation(&[], Shown::Absent);
    let since = json!({"status": "True", "reason": "CorrectionApplied", "message": "correction 2",
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
    told.stands.push(placed(ConditionKind::Corrected, &since));
    let line = "driftCorrected True/CorrectionApplied: correction 2 (status since 2026-01-01T00:00:00Z";
    assert!(told.text(None).contains(&format!("stands      {line})")), "{}", told.text(None));
    let entry = json!({"manager": "drift-controller", "subresource": "status", "time": "2026-01-01T00:02:00Z"});
    let told = told.with_writes(StatusWrites::of(&json!({"metadata": {"managedFields": [entry]}})));
    assert!(told.text(None).contains(&format!("{line}, last written 2026-01-01T00:02:00Z)")), "{}", told.text(None));
    assert_eq!(told.json()["written"], json!({"driftObserved": null, "driftCorrected": "2026-01-01T00:02:00Z"}));
}

#[test]
fn a_pause_says_who_set_it_and_when() {
    let annotations = json!({"f:annotations": {"f:driftpoller.dev/paused": {}}});
    let entry =
        json!({"manager": "kubectl-drift", "time": "2026-01-01T00:02:00Z", "fieldsV1": {"f:metadata": annotations}});
    let object = json!({"metadata": {"annotations": {"driftpoller.dev/paused": "a move"}, "managedFields": [entry]}});
    let told = explanation(&[], Shown::Absent).with_writes(StatusWrites::of(&object));
    assert!(
        told.text(None).contains("            paused with kubectl-drift at 2026-01-01T00:02:00Z\n"),
        "{}",
        told.text(None)
    );
    assert_eq!(told.json()["paused"], json!({"by": "kubectl-drift", "at": "2026-01-01T00:02:00Z"}));
}

#[test]
fn a_trial_says_what_would_follow() {
    let follows = "follows     a correction (update), once the target is active\n";
    for (held, expected) in [(&[][..], follows), (&["it is paused"], "held        it is paused\n")] {
        let told = explanation(held, Shown::Absent).with_trial("it was tried");
        let text = told.text(None);
        assert!(text.ends_with(&format!("{expected}tried       it was tried\n")), "{text}");
        assert_eq!(told.json()["tried"], json!("it was tried"));
    }
}

#[test]
fn programs_are_told_the_same() {
    let told = explanation(&["it is paused"], Shown::Absent).json();
    assert_eq!((&told["verdict"]["reason"], &told["held"]), (&json!("FieldsDiffer"), &json!(["it is paused"])));
    assert_eq!(
        (&told["observed"], &told["action"], &told["steps"][0]),
        (&Value::Null, &json!("update"), &json!("PUT http://h/x"))
    );
}
