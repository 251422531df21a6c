//! What is shown of objects, and in which order.

use serde_json::json;

use super::*;
use crate::engine::fixtures::{TEXT, at, object, target};
use crate::engine::object::object_store::ObjectStore;

/// An object of that name with that verdict; without a word none.
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
    overview.rows.iter().map(|row| row.object.as_str()).collect()
}

#[test]
fn the_worst_stand_first_and_all_are_counted() {
    let mut objects = ObjectStore::new(target(TEXT));
    for (name, status) in [("a", "False"), ("b", "True"), ("c", "Unknown"), ("d", ""), ("e", "True")] {
        seen(&mut objects, name, status);
    }
    let ask = |search: &str, shown| {
        let question = Question { search: search.to_owned(), shown, ..with_rows() };
        overview("t", objects.states(), &question, at(10).moment)
    };
    let all = ask("", Shown::All);
    assert_eq!(names(&all), ["b", "e", "c", "d", "a"]);
    assert_eq!((all.counts, all.matching), (VerdictCounts { in_sync: 1, drifted: 2, unknown: 2, deleting: 0 }, 5));
    assert_eq!(all.lateness, Duration::from_secs(10));
    let found = ask("e", Shown::Drifted);
    assert_eq!((names(&found), found.matching, found.counts), (vec!["e"], 1, all.counts));
    assert_eq!(names(&ask("", Shown::Unknown)), ["c", "d"]);
    let row = &found.rows[0];
    let texts = [&row.verdict, &row.correction].map(|one| one.as_ref().map(|one| one.text.as_str()));
    assert_eq!(texts, [Some("1 field differs"), Some("updated")], "what only the programs read is left out");
}

#[test]
fn what_is_being_deleted_is_counted_for_itself() {
    let mut objects = ObjectStore::new(target(TEXT));
    for (name, status) in [("a", "False"), ("b", "True"), ("c", "Unknown")] {
        seen(&mut objects, name, status);
        let mut deleted = objects.states().find(|state| &*state.object().id.name == name).unwrap().object().clone();
        (deleted.deleting, deleted.resource_version) = (true, "2".into());
        objects.see(deleted, at(1));
    }
    seen(&mut objects, "d", "True");
    let ask = |shown| overview("t", objects.states(), &Question { shown, ..with_rows() }, at(10).moment);
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
    let ask = |question: &Question| overview("t", objects.states(), question, at(10).moment);
    let all = ask(&with_rows());
    assert_eq!((all.matching, all.rows.len(), names(&all)[0]), (MOST_ROWS + 2, MOST_ROWS, "z"));
    for elsewhere in [Question::default(), Question { target: Some("other".to_owned()), ..with_rows() }] {
        let counted = ask(&elsewhere);
        assert_eq!((counted.counts, counted.rows.len()), (all.counts, 0), "only the counts are asked for");
    }
}
