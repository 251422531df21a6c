#![allow(clippy::unwrap_used)]

use super::fixtures::{TARGET, row};
use super::*;
use crate::ending::ExitStatus;
use crate::get::changes::Followed;
use crate::get::wanted::{Wanted, arrange};
use crate::targets::reports::with_its_conditions;
use drift_api::held_corrections::Held;
use drift_api::object::SeenObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::report::{report_fields, report_name};
use drift_api::printable::is_printable;
use drift_api::unwritten::UnwrittenWord;
use drift_kube::reports::ListedReports;
use std::sync::Arc;

fn observed(status: &str, reason: &str, message: &str) -> Value {
    json!([{"type": "driftObserved", "status": status, "reason": reason, "message": message, "observedGeneration": 2,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

fn drifted(name: &str) -> Row {
    let message = "2 fields differ: /a desired 1, observed 2; /handle[id=x y]/b missing \"z\" [desired 3f2a9c71d04b58e6, correction 4]";
    let mut conditions = observed("True", "FieldsDiffer", message);
    let note = json!({"type": "driftCorrected", "status": "True", "reason": "CorrectionApplied", "message": "correction 4, owns \"w\": updated [scope 3f2a9c71]"});
    conditions.as_array_mut().unwrap().push(note);
    row(name, &conditions)
}

#[test]
fn a_row_says_what_stands_on_the_object() {
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    let row = drifted("web");
    let cells =
        ["n", "Proxy/web", "True", "3m", "FieldsDiffer", "/a,/handle[id=x y]/b", "CorrectionApplied", "Observing"];
    assert_eq!(row.cells(now, false), cells);
    let text = "2 fields differ: /a desired 1, observed 2; /handle[id=x y]/b missing \"z\"";
    assert_eq!(row.cells(now, true)[8..], ["t", text]);
    assert_eq!((heads(true).len(), heads(false).len()), (10, 8));
    assert_eq!(row.json()["driftCorrected"]["correction"], 4);
    assert_eq!(row.json()["driftObserved"]["outdated"], false);
    assert_eq!(row.qualified_name(), "proxy.g.example/web");
    assert_eq!(Row { api_version: "v1".to_owned(), ..row }.qualified_name(), "proxy/web");
    let new = super::fixtures::row("new", &json!([]));
    assert_eq!(new.cells(now, false), ["n", "Proxy/new", "-", "-", "-", "-", "-", "Poll"]);
}

/// The row of an object with a condition in its status, of a target with reports.
fn reported_row(report: Option<&Value>) -> Row {
    let target =
        Arc::new(drift_language::fixtures::target(&TARGET.replace("kind: Proxy", "kind: Proxy, conditions: Report")));
    let object = json!({"metadata": {"name": "web", "namespace": "n", "uid": "u", "generation": 2},
        "status": {"conditions": observed("False", "InSync", "left by a former target")}});
    let version = kube::core::GroupVersionKind::gvk("g.example", "v1", "Proxy");
    let resource = kube::core::ApiResource::from_gvk(&version);
    let kind = drift_kube::client::ResolvedKind { resource, namespaced: true };
    let listed = report.map(|report| {
        let mut listed = ListedReports::default();
        listed.insert(LeanObject::prune(report, &report_fields()));
        listed
    });
    let seen = SeenObject { object: LeanObject::prune(&object, &FieldPaths::default()), labels: None };
    let seen = with_its_conditions((&target.objects, &kind), listed.as_ref(), seen);
    Row::of((&KnownTarget::Text(target.clone()), &target.objects), &seen.object)
}

fn report_of(uid: &str) -> Value {
    let name = report_name("g.example", "Proxy", "web");
    json!({"metadata": {"name": name, "namespace": "n", "uid": "r", "resourceVersion": "7"}, "object": {"uid": uid},
        "status": {"conditions": observed("True", "FieldsDiffer", "1 field differs: /a desired 1, observed 2")}})
}

#[test]
fn a_row_says_what_the_report_of_its_object_says() {
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    let of_it = reported_row(Some(&report_of("u")));
    assert_eq!(of_it.cells(now, false)[2..6], ["True", "3m", "FieldsDiffer", "/a"]);
    assert_eq!(of_it.json()["report"], json!(report_name("g.example", "Proxy", "web")));
    let of_former = reported_row(Some(&report_of("former")));
    assert_eq!(of_former.cells(now, false)[2..], ["-", "-", "-", "-", "-", "Poll"]);
    assert_eq!(of_former.json()["report"], json!(null));
}

#[test]
fn a_report_that_cannot_be_read_is_unknown() {
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    let unread = reported_row(None);
    assert_eq!(unread.cells(now, false)[2..], ["?"; 6]);
    assert_eq!(unread.cells(now, true)[9], "its conditions are in a DriftReport, which cannot be read");
    assert_eq!((&unread.json()["reportUnread"], &unread.json()["next"]), (&json!(true), &json!(null)));
    assert_eq!(summarise(&[unread]), ExitStatus::Unknown);
}

#[test]
fn an_object_without_rights_says_so() {
    let row = Row { lacks_rights: true, ..row("new", &json!([])) };
    let cells = row.cells("2026-01-01T00:03:20Z".parse().unwrap(), false);
    assert_eq!(cells[2..5], ["-", "-", "RightsMissing"]);
    assert_eq!(row.json()["lacksRights"], true);
}

#[test]
fn a_verdict_that_the_poller_does_not_stand_by_is_unknown() {
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    for (doubt, reason) in [
        (Doubt::Unwritten(UnwrittenWord::RightsMissing), "RightsMissing (InSync)"),
        (Doubt::Unattested, "Unattested (InSync)"),
    ] {
        let row = Row { doubt: Some(doubt), ..row("web", &observed("False", "InSync", "x")) };
        assert_eq!(row.cells(now, false)[2..5], ["Unknown", "3m", reason]);
        assert_eq!(
            (&row.json()["doubt"], &row.json()["driftObserved"]["reason"]),
            (&json!(doubt.as_str()), &json!("InSync"))
        );
        assert!(Wanted { unknown: true, ..Wanted::default() }.wants(&row) && summarise(&[row]) == ExitStatus::Unknown);
    }
    let new = Row { doubt: Some(Doubt::Unwritten(UnwrittenWord::WriteRefused)), ..row("new", &json!([])) };
    assert_eq!(new.cells(now, false)[4], "WriteRefused");
    assert_eq!(row("web", &json!([])).json()["doubt"], json!(null));
}

#[test]
fn a_hold_stands_in_place_of_the_next_step() {
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    let hold = |until: Option<&str>| Hold {
        word: "Delayed",
        until: until.map(|until| until.parse().unwrap()),
        sentence: "the controller backs off".to_owned(),
    };
    let row = |until| Row { hold: Some(hold(until)), ..drifted("web") };
    let delayed = row(Some("2026-01-01T12:03:10Z"));
    assert_eq!(
        (delayed.cells(now, false)[7].as_str(), row(None).cells(now, false)[7].as_str()),
        ("Delayed until 12:03:10Z", "Delayed")
    );
    assert_eq!(row(Some("2026-01-09T22:00:00Z")).cells(now, false)[7], "Delayed until 2026-01-09T22:00Z");
    assert!(delayed.cells(now, true)[9].ends_with("missing \"z\"; held: the controller backs off"));
    let told = delayed.json();
    let held = json!({"reason": "Delayed", "until": "2026-01-01T12:03:10Z", "message": "the controller backs off"});
    assert_eq!((&told["next"], &told["held"]), (&json!("Delayed"), &held));
    assert_eq!(drifted("web").json()["held"], json!(null));
    assert_eq!(Row { gone: true, ..delayed }.cells(now, false)[7], "Gone");
}

#[test]
fn a_row_says_who_else_has_the_resource() {
    for (reason, message, expected) in [
        (
            "IdentityTaken",
            "correction 4: another object has it: Proxy.g.example team-a/web",
            "TAKEN BY Proxy team-a/web",
        ),
        ("IdentityTaken", "taken", "TAKEN BY another object"),
        ("IdentityContested", "correction 4, owns \"w\": others claim it: Proxy a/web [scope 3f2a9c71]", "CONTESTED"),
        ("IdentityChanged", "correction 4, owns \"w\": Proxy a/web [scope 3f2a9c71]", "IdentityChanged"),
        ("Foreign", "taken by Proxy a/web", "Foreign"),
    ] {
        let mut conditions = observed("True", "FieldsDiffer", "x [desired 3f2a9c71d04b58e6, correction 4]");
        let record = json!({"type": "driftCorrected", "status": "False", "reason": reason, "message": message});
        conditions.as_array_mut().unwrap().push(record);
        let row = row("web", &conditions);
        assert_eq!(row.cells("2026-01-01T00:03:20Z".parse().unwrap(), false)[6], expected, "{message}");
        assert_eq!(row.json()["driftCorrected"]["reason"], reason);
    }
}

#[test]
fn no_foreign_text_reaches_the_terminal_as_it_is() {
    let foreign = "a\u{1b}[2J\u{9b}2J\u{202e}b";
    let mut conditions = observed("True", foreign, &format!("1 field differs: /{foreign} desired 1, observed 2"));
    let note = json!({"type": "driftCorrected", "status": "True", "reason": foreign, "message": foreign});
    conditions.as_array_mut().unwrap().push(note);
    let cells = row("web", &conditions).cells("2026-01-01T00:03:20Z".parse().unwrap(), true);
    assert!(cells.iter().flat_map(|cell| cell.chars()).all(is_printable), "{cells:?}");
}

#[test]
fn what_is_said_of_an_older_spec_says_nothing() {
    let mut conditions = observed("False", "InSync", "x [desired 3f2a9c71d04b58e6]");
    conditions[0]["observedGeneration"] = json!(1);
    let old = row("old", &conditions);
    let cells = old.cells("2026-01-01T00:03:20Z".parse().unwrap(), false);
    assert_eq!(cells[2..5], ["Unknown", "3m", "InSync (of an older spec)"]);
    assert_eq!(
        (summarise(std::slice::from_ref(&old)), old.json()["driftObserved"]["outdated"].clone()),
        (ExitStatus::Unknown, json!(true))
    );
}

#[test]
fn what_is_being_deleted_has_no_verdict() {
    let target = Arc::new(drift_language::fixtures::target(TARGET));
    let metadata =
        json!({"name": "web", "namespace": "n", "generation": 2, "deletionTimestamp": "2026-01-01T00:00:00Z"});
    for status in ["True", "False", "Unknown"] {
        for generation in [1, 2] {
            let mut conditions = observed(status, "FieldsDiffer", "x");
            conditions[0]["observedGeneration"] = json!(generation);
            let object = json!({"metadata": metadata, "status": {"conditions": conditions}});
            let object = LeanObject::prune(&object, &FieldPaths::default());
            let row = Row::of((&KnownTarget::Text(target.clone()), &target.objects), &object);
            let cells = row.cells("2026-01-01T00:03:20Z".parse().unwrap(), true);
            assert_eq!(cells[2..9], ["-", "-", "Deleting", "-", "-", "Deletion", "t"]);
            assert!(
                cells[9].starts_with("what is being deleted has no verdict") && row.json()["deleting"] == true,
                "{cells:?}"
            );
            assert!(!Wanted { drifted: true, unknown: true, ..Wanted::default() }.wants(&row), "{status}");
            assert_eq!(summarise(&[row]), ExitStatus::Success);
        }
    }
}

#[test]
fn what_another_wrote_reaches_no_terminal_raw() {
    let wide = row("x", &observed("False", "InSync", "\u{1b}[2J")).cells("2026-01-01T00:03:20Z".parse().unwrap(), true);
    assert!(!wide.concat().contains('\u{1b}'), "{wide:?}");
}

#[test]
fn rows_are_chosen_and_summarised() {
    let good = row("good", &observed("False", "InSync", "x [desired 3f2a9c71d04b58e6]"));
    let lost = row("lost", &observed("Unknown", "PollTimedOut", "x"));
    let rows = vec![lost.clone(), drifted("web"), good.clone(), good.clone()];
    let names =
        |wanted: Wanted| -> Vec<String> { arrange(rows.clone(), wanted).into_iter().map(|row| row.name).collect() };
    assert_eq!(names(Wanted::default()), ["good", "lost", "web"], "in order, each once");
    assert_eq!(names(Wanted { drifted: true, ..Wanted::default() }), ["web"]);
    assert_eq!(names(Wanted { drifted: true, unknown: true, ..Wanted::default() }), ["lost", "web"]);
    assert_eq!(summarise(&rows), ExitStatus::Drifted);
    assert_eq!(summarise(&[good.clone(), lost]), ExitStatus::Unknown);
    assert_eq!(summarise(&[good]), ExitStatus::Success);
    assert_eq!(summarise(&[]), ExitStatus::Success);
}

#[test]
fn an_empty_list_says_what_there_is() {
    let good = || row("good", &observed("False", "InSync", "x [desired 3f2a9c71d04b58e6]"));
    let of = |drifted, unknown, found: &[Row], namespace| {
        Wanted { drifted, unknown, ..Wanted::default() }.nothing_of(found, namespace)
    };
    let lost = row("lost", &observed("Unknown", "PollTimedOut", "x"));
    assert_eq!(of(true, false, &[good(), good()], None), "nothing drifted: 2 objects in sync");
    assert_eq!(of(true, false, &[good(), lost], None), "nothing drifted: 1 object in sync, 1 unknown");
    let deleted = Row { deleting: true, ..good() };
    assert_eq!(
        of(false, true, &[drifted("web"), deleted], Some("n")),
        "nothing is unknown: 1 object drifted, 1 being deleted"
    );
    assert_eq!(of(true, true, &[good()], None), "nothing drifted or is unknown: 1 object in sync");
    assert_eq!(of(true, false, &[], None), "no objects found in any namespace");
    assert_eq!(of(false, false, &[], Some("n")), "no objects found in n (-A lists all namespaces)");
}

#[test]
fn a_wide_row_says_why_a_correction_failed() {
    let mut conditions = observed("True", "FieldsDiffer", "1 field differs: /a desired 1, observed 2 [correction 4]");
    let record = json!({"type": "driftCorrected", "status": "False", "reason": "CorrectionFailed",
        "message": "correction 4, owns \"w\": status 403 [scope 3f2a9c71]"});
    conditions.as_array_mut().unwrap().push(record);
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    let cells = row("web", &conditions).cells(now, true);
    assert_eq!(cells[9], "1 field differs: /a desired 1, observed 2; CorrectionFailed: status 403");
    assert!(!drifted("web").cells(now, true)[9].contains("updated"), "a correction in effect needs no words");
}

#[test]
fn a_recorded_hold_is_printed_once() {
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    let mut conditions = observed("True", "FieldsDiffer", "x [correction 4]");
    let record = json!({"type": "driftCorrected", "status": "False", "reason": "AttemptsExhausted",
        "message": "correction 4, owns \"w\": in vain [scope 3f2a9c71]"});
    conditions.as_array_mut().unwrap().push(record);
    for (word, sentence, expected) in [
        ("AttemptsExhausted", "in vain", "x; held: in vain (AttemptsExhausted)"),
        ("Delayed", "it waits", "x; AttemptsExhausted: in vain; held: it waits (Delayed)"),
    ] {
        let row = Row { hold: Some(Hold::of(word, sentence)), ..row("web", &conditions) };
        assert_eq!(row.cells(now, true)[9], expected);
    }
}

#[test]
fn a_paused_row_says_why() {
    let object =
        json!({"metadata": {"name": "web", "namespace": "n", "annotations": {"driftpoller.dev/paused": "CHG-4711"}}});
    let target = Arc::new(drift_language::fixtures::target(TARGET));
    let object = LeanObject::prune(&object, &FieldPaths::default());
    let row = Row::of((&KnownTarget::Text(target.clone()), &target.objects), &object);
    let now = "2026-01-01T00:03:20Z".parse().unwrap();
    assert_eq!(row.cells(now, true)[7..], ["Paused", "t", "paused: CHG-4711"]);
    assert_eq!((&row.json()["paused"], &row.json()["pauseReason"]), (&json!(true), &json!("CHG-4711")));
}

#[test]
fn a_held_row_waits_for_more_than_a_poll() {
    let good = row("good", &observed("False", "InSync", "x"));
    let held = Hold::of("BreakerOpen", "the breaker is open");
    let wants = |next, hold: Option<&Hold>| {
        let wanted = Wanted { held: true, ..Wanted::default() };
        wanted.wants(&Row { next, hold: hold.cloned(), ..good.clone() })
    };
    for (next, hold, expected) in [
        (Next::Nothing, None, false),
        (Next::Poll, None, false),
        (Next::Held(Held::NotVerified), None, false),
        (Next::Correction, None, false),
        (Next::Correction, Some(&held), true),
        (Next::Deletion, Some(&held), true),
        (Next::Held(Held::Paused), None, true),
        (Next::Held(Held::AwaitingApproval), None, true),
        (Next::Held(Held::AttemptsExhausted), None, true),
        (Next::Held(Held::Observing), None, true),
    ] {
        assert_eq!(wants(next, hold), expected, "{next:?}");
    }
    let drifted_and_held = Wanted { drifted: true, held: true, ..Wanted::default() };
    let paused = Row { next: Next::Held(Held::Paused), ..good };
    assert!(!drifted_and_held.wants(&paused), "it is in sync");
    assert_eq!(drifted_and_held.nothing_of(&[paused], None), "nothing drifted and is held: 1 object in sync");
}

#[test]
fn ages_are_short() {
    let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
    for (since, expected) in [
        ("2026-01-09T23:58:01Z", Some("119s")),
        ("2026-01-09T22:30:00Z", Some("90m")),
        ("2026-01-08T12:00:00Z", Some("36h")),
        ("2026-01-01T00:00:00Z", Some("9d")),
        ("2026-01-11T00:00:00Z", Some("0s")),
        ("yesterday", None),
    ] {
        assert_eq!(age(since, now).as_deref(), expected, "{since}");
    }
}

#[test]
fn only_what_says_something_else_is_told_again() {
    let (place, drift) = (|uid: &str| (0, uid.to_owned()), drifted("web"));
    let good = row("web", &observed("False", "InSync", "x [desired 3f2a9c71d04b58e6]"));
    let mut followed = Followed::new(Wanted { drifted: true, ..Wanted::default() });
    followed.began(0);
    assert_eq!(followed.seen(place("a"), good.clone()), None, "not wanted");
    assert!(followed.ended(0).is_empty());
    assert_eq!(followed.seen(place("a"), drift.clone()), Some(drift.clone()));
    assert_eq!(followed.seen(place("a"), drift.clone()), None, "as before");
    assert_eq!(followed.seen(place("a"), good.clone()), Some(good), "it was wanted until now");
    assert_eq!(followed.left(&place("a")), None, "and is no more");
    followed.seen(place("b"), drift.clone());
    followed.seen(place("c"), drift.clone());
    followed.began(0);
    followed.seen(place("b"), drift.clone());
    let gone = followed.ended(0);
    assert!(gone.len() == 1 && gone[0].gone && gone[0].cells(Timestamp::UNIX_EPOCH, false).last().unwrap() == "Gone");
    assert_eq!(followed.rows(), [drift]);
}

#[test]
fn another_hold_prints_the_row_again() {
    let mut followed = Followed::new(Wanted { drifted: true, ..Wanted::default() });
    let place = |uid: &str| (0, uid.to_owned());
    let held = |word| Row { hold: Some(Hold::of(word, "x")), ..drifted("web") };
    assert_eq!(followed.held_again(&place("u"), held("Limited")), None, "not listed yet");
    followed.seen(place("u"), drifted("web"));
    for (row, is_told) in
        [(drifted("web"), false), (held("Limited"), true), (held("Limited"), false), (held("Delayed"), true)]
    {
        assert_eq!(followed.held_again(&place("u"), row.clone()).is_some(), is_told, "{:?}", row.hold);
    }
    followed.seen(place("v"), row("api", &json!([])));
    let unwanted = Row { hold: Some(Hold::of("Limited", "x")), ..row("api", &json!([])) };
    assert_eq!(followed.held_again(&place("v"), unwanted), None);
}
