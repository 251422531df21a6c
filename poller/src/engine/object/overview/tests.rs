//! The rows of an overview and their order.

use std::sync::Arc;

use drift_api::attestation::Attestation;
use drift_api::held_corrections::HeldCorrections;
use drift_api::object::report::{SeenReport, report_fields, report_name};
use drift_api::object::{AnnotationRequests, LeanObject};
use serde_json::json;

use super::*;
use crate::engine::fixtures::{TEXT, at, object, target};
use crate::engine::judgement::finding::Finding;
use crate::engine::object::object_store::ObjectStore;
use crate::engine::writes::write_attempts::{Refusal, WriteOutcome};
use drift_api::condition::ConditionStatus;
use drift_api::unwritten::UnwrittenWord;

/// Adds an object with this status of driftObserved; without a status it has no conditions.
fn seen(objects: &mut ObjectStore, name: &str, status: &str) {
    let observed = json!({"type": "driftObserved", "status": status, "reason": "FieldsDiffer", "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "1 field differs [desired 3f2a9c71d04b58e6, correction 7]"});
    let corrected = json!({"type": "driftCorrected", "status": "True", "reason": "CorrectionApplied",
        "observedGeneration": 1, "message": "correction 7, owns \"x\": updated"});
    let conditions = if status.is_empty() { json!([]) } else { json!([observed, corrected]) };
    let object = object(&target(TEXT), name, &json!({"id": name, "a": 1}), &json!({"conditions": conditions}));
    objects.see(object, at(0));
}

/// A question for single objects.
fn with_rows() -> Question {
    Question { with_rows: true, single: true, ..Question::default() }
}

/// A question for groups.
fn with_groups() -> Question {
    Question { single: false, ..with_rows() }
}

fn names(overview: &TargetOverview) -> Vec<&str> {
    overview.rows.iter().map(|row| &*row.id.name).collect()
}

#[test]
fn the_worst_objects_come_first_and_all_are_counted() {
    let mut objects = ObjectStore::new(target(TEXT));
    for (name, status) in [("a", "False"), ("b", "True"), ("c", "Unknown"), ("d", ""), ("e", "True")] {
        seen(&mut objects, name, status);
    }
    let ask = |search: &str, shown| {
        let question = Question { search: search.to_owned(), shown, ..with_rows() };
        overview(&target(TEXT), objects.states(), &question, at(10))
    };
    let all = ask("", Shown::All);
    assert_eq!(names(&all), ["b", "e", "c", "d", "a"]);
    assert_eq!((all.counts, all.matching), (VerdictCounts { in_sync: 1, drifted: 2, unknown: 2, deleting: 0 }, 5));
    assert_eq!(all.lateness, Duration::from_secs(10));
    let found = ask("e", Shown::Drifted);
    assert_eq!((names(&found), found.matching, found.counts), (vec!["e"], 1, all.counts));
    assert_eq!(names(&ask("", Shown::Unknown)), ["c", "d"]);
    assert_eq!(names(&ask("", Shown::InSync)), ["a"]);
    assert!(Shown::ALL.iter().all(|shown| Shown::parse(shown.as_str()) == *shown));
    let row = &found.rows[0];
    let texts = [&row.verdict, &row.correction].map(|one| one.as_ref().map(|one| one.text.as_str()));
    assert_eq!(texts, [Some("1 field differs"), Some("updated")], "machine-readable parts are left out");
}

#[test]
fn an_unwritten_verdict_makes_the_old_one_unknown() {
    let mut objects = ObjectStore::new(target(TEXT));
    ["a", "b"].iter().for_each(|name| seen(&mut objects, name, "True"));
    let (uid, now) = ("a".into(), at(1));
    let begun = objects.update(&uid, now.moment, |state| state.begin_poll(now)).unwrap();
    objects.update(&uid, now.moment, |state| {
        state.finish_poll(begun, Finding::InSync, now.moment);
        state.begin_write(now.moment, "2026-01-01T00:00:00Z").unwrap();
        let refusal = Refusal { sentence: String::new(), word: UnwrittenWord::RightsMissing };
        state.finish_write(&WriteOutcome::Refused(refusal), now.moment);
    });
    let all = overview(&target(TEXT), objects.states(), &with_rows(), at(10));
    assert_eq!(all.counts, VerdictCounts { drifted: 1, unknown: 1, ..VerdictCounts::default() });
    let verdict = all.rows[1].verdict.as_ref().unwrap();
    assert_eq!((verdict.status, verdict.reason.as_str()), (ConditionStatus::Unknown, "RightsMissing (FieldsDiffer)"));
    assert!(verdict.text.ends_with("what stands on the object: 1 field differs"), "{}", verdict.text);
    let count = WordCount { count: 1, first: all.rows[1].id.clone() };
    assert_eq!(all.words.get(UnwrittenWord::RightsMissing.as_str()), Some(&count));
}

#[test]
fn deleting_objects_have_a_count_of_their_own() {
    let mut objects = ObjectStore::new(target(TEXT));
    for (name, status) in [("a", "False"), ("b", "True"), ("c", "Unknown")] {
        seen(&mut objects, name, status);
        let mut deleted = objects.states().find(|state| &*state.object().id.name == name).unwrap().object().clone();
        (deleted.deleting, deleted.resource_version) = (true, "2".into());
        objects.see(deleted, at(1));
    }
    seen(&mut objects, "d", "True");
    let ask = |shown| overview(&target(TEXT), objects.states(), &Question { shown, ..with_rows() }, at(10));
    let all = ask(Shown::All);
    assert_eq!(all.counts, VerdictCounts { drifted: 1, deleting: 3, ..VerdictCounts::default() });
    assert_eq!(names(&all), ["d", "a", "b", "c"]);
    assert!(all.rows[1..].iter().all(|row| row.deleting && row.verdict.is_none()));
    assert_eq!((names(&ask(Shown::Drifted)), names(&ask(Shown::Unknown))), (vec!["d"], vec![]));
}

#[test]
fn a_refused_deletion_stays() {
    let target = target(TEXT);
    let mut objects = ObjectStore::new(target.clone());
    let now = at(10);
    for (name, reason, generation, age) in [
        ("a", "CorrectionFailed", 2, 1_801),
        ("b", "DeletionUnclear", 2, 1_801),
        ("c", "CorrectionFailed", 1, 1_801),
        ("d", "CorrectionStarted", 2, 1_801),
        ("e", "CorrectionFailed", 2, 1_800),
    ] {
        let record = json!({"type": "driftCorrected", "status": "False", "reason": reason,
            "observedGeneration": generation, "message": "correction 7, owns \"x\": DELETE answered 409"});
        let mut deleted = object(&target, name, &json!({"id": name, "a": 1}), &json!({"conditions": [record]}));
        (deleted.deleting, deleted.generation) = (true, Some(2));
        let deletion = u32::try_from(now.wall.as_secs() - age).unwrap();
        deleted.asked = Some(Box::new(AnnotationRequests { deletion, ..AnnotationRequests::default() }));
        objects.see(deleted, at(1));
    }
    let all = overview(&target, objects.states(), &with_groups(), now);
    assert_eq!((all.words[DELETION_STAYS].count, &*all.words[DELETION_STAYS].first.name), (2, "a"));
    let found = Question { held: Some(DELETION_STAYS.to_owned()), ..with_groups() };
    assert_eq!(names(&overview(&target, objects.states(), &found, now)), ["a", "b"]);
}

#[test]
fn an_answer_is_bounded() {
    let mut objects = ObjectStore::new(target(TEXT));
    for number in 0..2 * OBJECTS_PER_PAGE {
        seen(&mut objects, &format!("o{number}"), "");
    }
    seen(&mut objects, "z", "True");
    let ask = |question: &Question| overview(&target(TEXT), objects.states(), question, at(10));
    let all = ask(&with_rows());
    let most = OBJECTS_PER_PAGE;
    assert_eq!((all.matching, all.rows.len(), names(&all)[0]), (2 * most + 1, most, "z"));
    for elsewhere in [Question::default(), Question { target: Some("other".to_owned()), ..with_rows() }] {
        let counted = ask(&elsewhere);
        assert_eq!((counted.counts, counted.rows.len(), counted.groups.len()), (all.counts, 0, 0), "only counts");
    }
    // Of all targets, each gives what may stand on the page. Of one, the page itself.
    let second = |target: Option<&str>| ask(&Question { page: 1, target: target.map(str::to_owned), ..with_rows() });
    let (of_all, of_one) = (second(None), second(Some("t")));
    assert_eq!((of_all.skipped, of_all.rows.len()), (0, 2 * most));
    assert_eq!((of_one.skipped, &of_one.rows[..]), (most, &of_all.rows[most..]));
    assert_eq!(ask(&Question { page: 50, ..with_rows() }).rows.len(), 2 * most + 1);
}

#[test]
fn names_with_numbers_are_in_natural_order() {
    let mut objects = ObjectStore::new(target(TEXT));
    for name in ["flag-10", "flag-9", "flag-1"] {
        seen(&mut objects, name, "True");
    }
    let all = overview(&target(TEXT), objects.states(), &with_rows(), at(10));
    assert_eq!(names(&all), ["flag-1", "flag-9", "flag-10"]);
}

#[test]
fn equal_objects_are_one_group() {
    let mut objects = ObjectStore::new(target(TEXT));
    for number in 0..300 {
        seen(&mut objects, &format!("o{number}"), "Unknown");
    }
    ["a", "b"].iter().for_each(|name| seen(&mut objects, name, "True"));
    seen(&mut objects, "c", "");
    seen(&mut objects, "d", "False");
    let ask = |question: &Question| overview(&target(TEXT), objects.states(), question, at(10));
    let all = ask(&with_groups());
    let shown: Vec<(Rank, &str, usize, usize)> = all
        .groups
        .iter()
        .map(|group| (group.key.rank, group.key.reason.as_str(), group.count, group.rows.len()))
        .collect();
    let expected = [
        (Rank::Drifted, "FieldsDiffer", 2, 2),
        (Rank::Unknown, "another writer's reason", 300, 3),
        (Rank::Unknown, "NoVerdict", 1, 1),
        (Rank::InSync, "another writer's reason", 1, 1),
    ];
    assert_eq!((&shown[..], all.group_count, all.matching, all.rows.len()), (&expected[..], 4, 304, 0));
    assert_eq!(all.words[UNKNOWN].count, 301);
    // The page of a group has all its objects, and those alone.
    let group = Question { group: Some(all.groups[1].key.id("t")), ..with_groups() };
    let of_group = ask(&group);
    assert_eq!((of_group.matching, names(&of_group)[0]), (300, "o0"));
    let found = ask(&Question { search: "o1".to_owned(), ..with_groups() });
    assert!(found.groups.is_empty() && found.rows.iter().all(|row| row.id.name.contains("o1")));
}

#[test]
fn holds_divide_groups_and_are_counted() {
    const CORRECT: &str = "\n  correct: {mode: Correct, http: {create: [{method: POST, url: 'http://h/x'}], update: [{method: PUT, url: 'http://h/x'}]}}\n";
    let target = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let mut objects = ObjectStore::new(target.clone());
    for (name, corrected) in [("a", "CorrectionApplied"), ("b", "CorrectionFailed"), ("c", "CorrectionApplied")] {
        let conditions = json!([
            {"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "observedGeneration": 1,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "message": "1 field differs: /a desired 1, observed 2 [desired 3f2a9c71d04b58e6, correction 7]"},
            {"type": "driftCorrected", "status": "True", "reason": corrected, "observedGeneration": 1,
                "message": "correction 7, owns \"x\": x"}]);
        let status = json!({"conditions": conditions});
        objects.see(object(&target, name, &json!({"id": name, "a": 1}), &status), at(0));
    }
    let held = r#"{"targets": {"t": {"whole": ["BreakerOpen 3/4 20%"], "objects": {"c": "Delayed until 2033-01-01T00:00:00Z"}}}}"#;
    let holds = LeaseHolds {
        attested: Some([("t".to_owned(), Attestation::default())].into()),
        controller: Some(Some(HeldCorrections::parse(held))),
        ..LeaseHolds::default()
    };
    let holds = Arc::new(holds);
    let ask = |question: Question| {
        overview(&target, objects.states(), &Question { holds: holds.clone(), ..question }, at(10))
    };
    let all = ask(with_groups());
    let keys: Vec<String> = all
        .groups
        .iter()
        .map(|Group { key, count, .. }| format!("{count} {} {} {}", key.cause, key.held.join("+"), key.marks.join("+")))
        .collect();
    assert_eq!(
        keys,
        ["1 /a BreakerOpen ", "1 /a BreakerOpen CorrectionFailed", "1 /a BreakerOpen+Delayed "],
        "{:#?}",
        all.groups
    );
    let words: Vec<(&str, usize)> = all.words.iter().map(|(word, found)| (*word, found.count)).collect();
    assert_eq!(words, [("BreakerOpen", 3), ("CorrectionFailed", 1), ("Delayed", 1)]);
    for (word, expected) in [("BreakerOpen", vec!["a", "b", "c"]), ("Delayed", vec!["c"]), ("Paused", vec![])] {
        let found = ask(Question { held: Some(word.to_owned()), ..with_groups() });
        assert_eq!(names(&found), expected, "{word}");
    }
    let unattested = LeaseHolds { attested: Some(BTreeMap::new()), ..LeaseHolds::default() };
    let unattested = Question { holds: Arc::new(unattested), ..with_groups() };
    let unattested = overview(&target, objects.states(), &unattested, at(10));
    assert_eq!(unattested.words["NotAttested"].count, 3);
}

#[test]
fn one_object_has_an_address() {
    let mut objects = ObjectStore::new(target(TEXT));
    ["a", "ab"].iter().for_each(|name| seen(&mut objects, name, "True"));
    let ask = |address: &str| {
        let question = Question { object: ObjectAddress::parse(address), ..with_groups() };
        overview(&target(TEXT), objects.states(), &question, at(10))
    };
    for (address, expected) in [
        ("Proxy.demo.driftpoller.dev/a", vec!["a"]),
        ("proxy.demo.driftpoller.dev/a", vec!["a"]),
        ("Proxy/a", vec![]),
        ("Proxy.demo.driftpoller.dev/x/a", vec![]),
        ("Proxy.demo.driftpoller.dev/b", vec![]),
    ] {
        assert_eq!(names(&ask(address)), expected, "{address}");
    }
}

#[test]
fn a_row_names_the_report_of_its_object() {
    let target = target(&TEXT.replace("kind: Proxy}", "kind: Proxy, conditions: Report}"));
    let mut objects = ObjectStore::new(target.clone());
    let bare = object(&target, "a", &json!({"id": "a", "a": 1}), &json!({}));
    let report = json!({"metadata": {"name": "r", "uid": "r", "resourceVersion": "2"}, "object": {"uid": "a"}, "status": {"conditions": [
        {"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "1 field differs: /a desired 1, observed 2 [desired 3f2a9c71d04b58e6]"}]}});
    let report = SeenReport::of(LeanObject::prune(&report, &report_fields()));
    objects.see(bare.clone().with_report(report), at(0));
    objects.see(
        object(&target, "b", &json!({"id": "b", "a": 1}), &json!({})).with_report(SeenReport::absent(None)),
        at(0),
    );
    let all = overview(&target, objects.states(), &with_rows(), at(10));
    assert_eq!((names(&all), all.counts.drifted, all.counts.unknown), (vec!["a", "b"], 1, 1));
    assert_eq!(all.rows[0].report, Some(report_name("demo.driftpoller.dev", "Proxy", "a")));
    assert_eq!(all.rows[1].report, None);
}
