//! The rows of an overview and their order.

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

fn with_rows() -> Question {
    Question { with_rows: true, ..Question::default() }
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
    assert_eq!(all.rows[1].alike, 1);
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
fn an_answer_is_bounded() {
    let mut objects = ObjectStore::new(target(TEXT));
    for number in 0..=MOST_ROWS {
        seen(&mut objects, &format!("o{number}"), "");
    }
    seen(&mut objects, "z", "True");
    let ask = |question: &Question| overview(&target(TEXT), objects.states(), question, at(10));
    let all = ask(&with_rows());
    assert_eq!((all.matching, all.rows.len(), names(&all)[0]), (MOST_ROWS + 2, MOST_ROWS, "z"));
    for elsewhere in [Question::default(), Question { target: Some("other".to_owned()), ..with_rows() }] {
        let counted = ask(&elsewhere);
        assert_eq!((counted.counts, counted.rows.len()), (all.counts, 0), "only counts were requested");
    }
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
fn equal_unknowns_are_counted_beyond_the_rows() {
    let mut objects = ObjectStore::new(target(TEXT));
    for number in 0..MOST_ROWS + 5 {
        seen(&mut objects, &format!("o{number}"), "Unknown");
    }
    seen(&mut objects, "a", "");
    seen(&mut objects, "b", "True");
    let all = overview(&target(TEXT), objects.states(), &with_rows(), at(10));
    let alike = |name: &str| all.rows.iter().find(|row| &*row.id.name == name).map(|row| row.alike);
    assert_eq!([alike("a"), alike("b"), alike("o1")], [Some(1), Some(1), Some(MOST_ROWS + 5)]);
    let found = Question { search: "o1".to_owned(), ..with_rows() };
    let found = overview(&target(TEXT), objects.states(), &found, at(10));
    assert!(found.rows.iter().all(|row| row.alike == found.matching), "only objects that match count");
}
