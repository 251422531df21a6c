use super::*;
use crate::core::fixtures::{Scene, at, bare_object, facts, target, wish};
use crate::core::held::Held;
use drift_model::condition::{CorrectedReason, ObservedReason, Tag};

const CALM: Around = Around { vouched: true, claimed_twice: false };

fn numbered(scene: Scene, number: usize) -> LeanObject {
    let mut object = scene.object;
    object.id.uid = Uid::from(format!("u{number}"));
    object
}

fn named(number: usize) -> ObjectFacts {
    ObjectFacts { identity: Some(format!("db{number}")), ..facts() }
}

fn drifted(number: usize) -> LeanObject {
    let owns = format!("db{number}");
    let scene = Scene::new().noted(CorrectedReason::CorrectionApplied, 7, Some(&owns));
    numbered(scene.observed(ObservedReason::FieldsDiffer), number)
}

fn roster() -> Roster {
    let mut roster = Roster::new(target(), Heritage::default()).0;
    roster.note_listed();
    roster
}

#[test]
fn a_mass_of_incidents_that_stands_after_the_first_list_opens_the_breaker_and_nothing_is_corrected() {
    let mut roster = Roster::new(target(), Heritage::default()).0;
    for number in 0..12 {
        roster.see(drifted(number), named(number), None, at(1));
    }
    assert_eq!(roster.evaluate_breaker(at(1)), None, "before the list is whole nothing can be told");
    roster.note_listed();
    assert_eq!(roster.evaluate_breaker(at(1)), Some(Transition::Opened { drifted: 12, judged: 12 }));
    assert_eq!(roster.decide(&"u3".into(), CALM, at(1)), Some(Decision::Nothing(Held::BreakerOpen)));
    assert_eq!(roster.let_pass(), Some(Transition::Closed));
    assert!(matches!(roster.decide(&"u3".into(), CALM, at(1)), Some(Decision::Correct(_))));
}

#[test]
fn nine_quick_corrections_do_not_close_the_breaker_that_the_tenth_object_opens() {
    let mut roster = roster();
    let healed = |number: usize| {
        let owns = format!("db{number}");
        let scene = Scene::new().noted(CorrectedReason::CorrectionApplied, 8, Some(&owns));
        let mut object = numbered(scene.observed(ObservedReason::InSync), number);
        object.resource_version = "9".to_owned();
        object
    };
    for number in 0..9 {
        roster.see(drifted(number), named(number), None, at(1));
        assert_eq!(roster.evaluate_breaker(at(1)), None);
        drop(roster.begin(&Uid::from(format!("u{number}")), at(1)));
        roster.see(healed(number), named(number), None, at(2));
    }
    roster.see(drifted(9), named(9), None, at(3));
    assert_eq!(roster.evaluate_breaker(at(3)), Some(Transition::Opened { drifted: 10, judged: 10 }));
    assert_eq!(roster.evaluate_breaker(at(3)), None);
    assert_eq!(roster.decide(&"u9".into(), CALM, at(9)), Some(Decision::Nothing(Held::BreakerOpen)));
}

#[test]
fn a_verdict_that_an_object_brings_along_is_not_acted_on_before_the_poller_had_its_say() {
    let decide = |roster: &Roster, seconds| roster.decide(&Uid::from("u0"), CALM, at(seconds));
    let mut listed_with_it = Roster::new(target(), Heritage::default()).0;
    listed_with_it.see(drifted(0), named(0), None, at(1));
    listed_with_it.note_listed();
    assert!(matches!(decide(&listed_with_it, 1), Some(Decision::Correct(_))), "vouching covers what is listed");

    let mut roster = roster();
    roster.see(drifted(0), named(0), None, at(100));
    assert_eq!(decide(&roster, 100), Some(Decision::Wait { until: at(110), why: Held::NotVouched }));
    assert!(matches!(decide(&roster, 110), Some(Decision::Correct(_))), "still vouched for: the poller has seen it");
    let tag = Tag { wish: Some(wish()), seen: false, correction: 7, unhealed: 1 };
    let scene = Scene::new().noted(CorrectedReason::CorrectionApplied, 7, Some("db0"));
    roster.see(numbered(scene.observed_with(ObservedReason::FieldsDiffer, tag), 0), named(0), None, at(101));
    assert!(matches!(decide(&roster, 103), Some(Decision::Correct(_))), "a new verdict is no old word");
}

#[test]
fn of_two_objects_with_one_identity_the_second_is_told_when_the_first_goes() {
    let mut roster = Roster::new(target(), Heritage::default()).0;
    let older = numbered(Scene::new().without_note().observed(ObservedReason::NotCreated), 0);
    let mut younger = numbered(Scene::new().without_note().observed(ObservedReason::NotCreated), 1);
    younger.created = "2026-02-01T00:00:00Z".to_owned();
    roster.see(older, facts(), None, at(1));
    roster.see(younger, facts(), None, at(1));
    roster.note_listed();
    assert_eq!(roster.decide(&"u1".into(), CALM, at(1)), Some(Decision::Nothing(Held::IdentityTaken)));
    assert_eq!(roster.forget(&"u0".into()), [Uid::from("u1")]);
    assert!(matches!(roster.decide(&"u1".into(), CALM, at(1)), Some(Decision::Correct(_))));
}

#[test]
fn a_note_of_an_earlier_process_that_another_writer_takes_away_is_put_back() {
    let mut roster = roster();
    let mut object = drifted(0);
    roster.see(object.clone(), named(0), None, at(1));
    object.conditions.corrected = None;
    object.resource_version = "9".to_owned();
    roster.see(object.clone(), named(0), None, at(2));
    let restored = |decision: Option<Decision>| match decision {
        Some(Decision::Note(change)) => Some((change.note.correction, change.note.owns)),
        _ => None,
    };
    assert_eq!(restored(roster.decide(&"u0".into(), CALM, at(20))), Some((7, Some("db0".to_owned()))));
    let noted = roster.noted(&"u0".into()).map(|noted| (noted.correction, noted.owns));
    assert_eq!(noted, Some((7, Some("db0".to_owned()))), "a deletion finds the claim too");
}

#[test]
fn a_claim_that_is_found_and_then_taken_back_is_not_put_back() {
    let mut roster = roster();
    let claimed = Scene::new().noted(CorrectedReason::CorrectionStarted, 7, Some("db0"));
    roster.see(numbered(claimed.observed(ObservedReason::NotCreated), 0), named(0), None, at(1));
    for (version, correction) in [("8", 8), ("9", 7)] {
        let refused = Scene::new().noted(CorrectedReason::CorrectionFailed, correction, None);
        let mut object = numbered(refused.observed(ObservedReason::NotCreated), 0);
        object.resource_version = version.to_owned();
        roster.see(object, named(0), None, at(2));
        let decision = roster.decide(&"u0".into(), CALM, at(20));
        assert!(!matches!(decision, Some(Decision::Note(_))), "{decision:?}");
        assert_eq!(roster.noted(&"u0".into()).and_then(|noted| noted.owns), None);
        roster.forget(&"u0".into());
        let claimed = Scene::new().noted(CorrectedReason::CorrectionStarted, 7, Some("db0"));
        roster.see(numbered(claimed.observed(ObservedReason::NotCreated), 0), named(0), None, at(1));
    }
}

#[test]
fn a_note_whose_answer_was_lost_is_put_back_as_it_stood_last() {
    let mut roster = roster();
    roster.see(drifted(0), named(0), None, at(1));
    let newer = Scene::new().noted(CorrectedReason::CorrectionApplied, 8, Some("db0"));
    let mut object = numbered(newer.observed(ObservedReason::FieldsDiffer), 0);
    object.resource_version = "8".to_owned();
    roster.see(object.clone(), named(0), None, at(2));
    object.conditions.corrected = None;
    object.resource_version = "9".to_owned();
    roster.see(object, named(0), None, at(3));
    let Some(Decision::Note(change)) = roster.decide(&"u0".into(), CALM, at(20)) else { unreachable!("not put back") };
    assert_eq!(change.note.correction, 8);
}

#[test]
fn an_older_state_does_not_replace_a_newer_one() {
    let mut roster = roster();
    let mut newer = bare_object();
    newer.resource_version = "9".to_owned();
    let uid = newer.id.uid.clone();
    roster.see(newer, facts(), None, at(1));
    assert!(roster.see(bare_object(), facts(), None, at(1)).is_empty());
    assert_eq!(roster.object(&uid).map(|object| object.resource_version.as_str()), Some("9"));
}

#[test]
fn what_is_under_way_for_the_former_text_counts_until_it_ends() {
    let limits = drift_target::CorrectLimits { concurrent: 1, ..target().limits };
    let mut roster = Roster::new(TargetFacts { limits, ..target() }, Heritage::default()).0;
    let place = roster.pace.begin(at(1));
    let next = Roster::new(TargetFacts { limits, ..target() }, roster.into_heritage(HashMap::new())).0;
    assert_eq!(next.room(at(2)), Room::AfterAnEnd);
    drop(place);
    assert_eq!(next.room(at(2)), Room::Free);
}

#[test]
fn what_the_breaker_inherits_of_objects_that_the_list_does_not_have_counts_no_more() {
    let mut roster = roster();
    for number in 0..12 {
        roster.see(drifted(number), named(number), None, at(1));
    }
    assert!(roster.evaluate_breaker(at(1)).is_some());
    let mut next = Roster::new(target(), roster.into_heritage(HashMap::new())).0;
    assert!(next.breaker_is_open());
    next.see(drifted(0), named(0), None, at(2));
    assert_eq!(next.evaluate_breaker(at(2)), None, "before the list is whole nothing can be told");
    next.note_listed();
    assert_eq!(next.evaluate_breaker(at(2)), None, "the one that is left still stands");
    next.forget(&"u0".into());
    assert_eq!(next.evaluate_breaker(at(2)), Some(Transition::Closed));
}

#[test]
fn an_edit_of_the_target_keeps_what_is_remembered() {
    let mut roster = roster();
    let object = numbered(Scene::new().observed_with(ObservedReason::FieldsDiffer, Tag::default()), 0);
    let uid = object.id.uid.clone();
    roster.see(object.clone(), facts(), None, at(1));
    if let Some(memory) = roster.memory(&uid) {
        memory.begin(at(5), None);
    }
    let (mut next, mut memories) = Roster::new(target(), roster.into_heritage(HashMap::new()));
    let memory = memories.remove(&uid);
    next.see(object, facts(), memory, at(9));
    assert_eq!(next.memory(&uid).map(|memory| memory.last_begun()), Some(at(5)));
}
