//! Known histories of two external systems: one name in both, and targets that move from one to the other.

use crate::events::Event;
use crate::events::Event::{
    Bar, Change, Configure, Crash, Create, Delete, GiveUp, List, Make, Pass, Relabel, Rest, Target,
};
use crate::known::{PLAIN, active, ends_well, minutes, one_object, played};
use crate::ledger::{entry, owns};
use crate::quiet::Ending;
use crate::targets::Text;
use crate::world::Who::{Controller, Poller};
use crate::world::World;

/// The same target in the other external system.
const ELSEWHERE: Text = Text { elsewhere: true, ..PLAIN };
/// The first resource of the other system.
const THERE: usize = 3;

/// Both programs use another text of the first target, after an object has made its resource.
fn moved(text: Text) -> Vec<Event> {
    let edited = [Make { resource: THERE, value: 9 }, Target { target: 0, text: Some(text) }];
    let configured = [Configure(Poller), Configure(Controller)];
    let parts = [one_object(), minutes(1), edited.into(), configured.into(), minutes(2)];
    parts.concat()
}

fn value(world: &World, resource: &str) -> Option<i64> {
    Some(world.outside.resources.get(resource)?.value)
}

fn with(before: &[Event], after: impl IntoIterator<Item = Event>) -> Vec<Event> {
    before.iter().cloned().chain(after).collect()
}

#[test]
fn a_claim_does_not_count_in_another_scope() {
    for text in [ELSEWHERE, Text { adopt: true, ..ELSEWHERE }] {
        let events = moved(text);
        let sent = played(&[one_object(), minutes(1)].concat()).outside.sent.len();
        let world = played(&with(&events, minutes(5)));
        assert_eq!((world.outside.sent.len(), value(&world, "elsewhere/r1")), (sent, Some(9)), "{text:?}");
        let note = entry(&world.api.objects["a"], "driftCorrected").map(|note| note["reason"].clone());
        assert_eq!(note, Some("IdentityChanged".into()));
        assert_eq!(owns(&world.api.objects["a"]).as_deref(), Some("r1"));
        let deleted = played(&with(&events, [Delete { object: 0 }].into_iter().chain(minutes(2))));
        assert!(deleted.api.objects.is_empty(), "the object goes");
        assert_eq!((value(&deleted, "r1"), value(&deleted, "elsewhere/r1")), (Some(1), Some(9)), "both stay");
        ends_well(events, [Rest], Ending::Free);
    }
}

#[test]
fn a_scope_that_comes_back_counts_again() {
    let back = [Target { target: 0, text: Some(PLAIN) }, Configure(Controller), Configure(Poller), Rest];
    let returned = with(&moved(ELSEWHERE), back.into_iter().chain(minutes(1)));
    let note = entry(&played(&returned).api.objects["a"], "driftCorrected").map(|note| note["reason"].clone());
    assert_eq!(note, Some("CorrectionApplied".into()));
    let events = with(&returned, [Change { resource: 0, value: 7 }].into_iter().chain(minutes(2)));
    assert_eq!(value(&played(&events), "r1"), Some(1));
    ends_well(events, [Rest], Ending::Free);
}

#[test]
fn a_claim_given_up_makes_room_for_the_other_scope() {
    let given_up = [GiveUp { object: 0, resource: Some(0) }, Rest, GiveUp { object: 0, resource: None }];
    let events = with(&moved(Text { adopt: true, ..ELSEWHERE }), given_up.into_iter().chain(minutes(3)));
    let world = played(&events);
    assert_eq!((value(&world, "r1"), value(&world, "elsewhere/r1")), (Some(1), Some(1)));
    assert_eq!(owns(&world.api.objects["a"]).as_deref(), Some("elsewhere/r1"));
    ends_well(events, [Rest], Ending::Free);
}

/// Two targets with an object each for one name.
fn two_targets(other: Text) -> Vec<Event> {
    let second = [Target { target: 1, text: Some(other) }, Configure(Poller), Configure(Controller)];
    let created = [
        Create { object: 0, resource: 0, value: 1, labels: 1 },
        Create { object: 1, resource: 0, value: 2, labels: 2 },
    ];
    active(PLAIN, second.into_iter().chain(created).chain(minutes(2)))
}

#[test]
fn one_name_in_two_scopes_is_two_resources() {
    let events = two_targets(ELSEWHERE);
    let world = played(&events);
    assert_eq!((value(&world, "r1"), value(&world, "elsewhere/r1")), (Some(1), Some(2)));
    let deleted = played(&with(&events, [Delete { object: 0 }].into_iter().chain(minutes(1))));
    assert_eq!((value(&deleted, "r1"), value(&deleted, "elsewhere/r1")), (None, Some(2)));
    ends_well(events, [Relabel { object: 1, labels: 1 }, Rest, Pass(20)], Ending::Free);
    let world = played(&two_targets(PLAIN));
    assert_eq!((value(&world, "r1"), value(&world, "elsewhere/r1")), (Some(1), None), "in one scope the older has it");
}

#[test]
fn a_deletion_waits_for_the_lists_of_its_scope_alone() {
    for (other, waits) in [(PLAIN, true), (ELSEWHERE, false)] {
        let begun = with(&two_targets(other), [Bar { who: Controller, target: 1, rejected: true }, Crash(Controller)]);
        let events = with(&begun, [List(Controller), Delete { object: 0 }].into_iter().chain(minutes(1)));
        assert_eq!(value(&played(&events), "r1").is_some(), waits, "{other:?}");
        ends_well(events, [Rest], Ending::Free);
    }
}
