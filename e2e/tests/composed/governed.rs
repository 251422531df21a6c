//! Known histories of a target whose ConfigMap is deleted, doubled or replaced, in another order for each program.

use drift_language::TargetState::{self, Former, Live, Taken};

use crate::events::Event;
use crate::events::Event::{Change, Configure, Crash, Create, Delete, Pass, Rest, State, Target};
use crate::known::{PLAIN, ends_well, minutes, one_object, played};
use crate::ledger::entry;
use crate::quiet::Ending;
use crate::targets::Text;
use crate::world::Who::{Controller, Poller};
use crate::world::{Who, World};

/// Another text of the target. The verdicts are the same.
const ADOPTING: Text = Text { adopt: true, ..PLAIN };

/// Returns the histories in which both programs learn the state at different times, or one of them alone.
fn learned(state: TargetState) -> Vec<Vec<Event>> {
    let learns = |who| State { who, target: 0, state };
    let late = |first, second| vec![learns(first), Rest, Pass(30), Rest, learns(second)];
    vec![late(Poller, Controller), late(Controller, Poller), vec![learns(Poller)], vec![learns(Controller)]]
}

/// A change of the resource, and the time in which it would be corrected.
fn changed() -> Vec<Event> {
    [Change { resource: 0, value: 7 }].into_iter().chain(minutes(3)).collect()
}

fn value(world: &World) -> Option<i64> {
    Some(world.outside.resources.get("r1")?.value)
}

fn history(parts: &[&[Event]]) -> Vec<Event> {
    one_object().into_iter().chain(minutes(2)).chain(parts.concat()).collect()
}

#[test]
fn the_text_of_the_poller_alone_corrects_nothing() {
    for text in [ADOPTING, Text { correct: false, ..PLAIN }, Text { edition: 2, ..PLAIN }] {
        let edited = [Target { target: 0, text: Some(text) }, Configure(Poller)];
        let events = history(&[&edited, &changed()]);
        assert_eq!(value(&played(&events)), Some(7), "{text:?}");
        ends_well(events, [Rest], Ending::Free);
        // The controller is the first to know it.
        let edited = [Target { target: 0, text: Some(text) }, Configure(Controller)];
        let events = history(&[&edited, &changed()]);
        assert_eq!(value(&played(&events)), Some(7), "{text:?}");
        ends_well(events, [Rest], Ending::Free);
    }
}

#[test]
fn two_texts_stop_everything_but_polls() {
    for learned in learned(Taken) {
        let is_known = learned.contains(&State { who: Controller, target: 0, state: Taken });
        for crashes in [vec![], vec![Crash(Controller)], vec![Crash(Poller), Crash(Controller)]] {
            let events = history(&[&learned, &crashes, &changed()]);
            let world = played(&events);
            let observed = entry(&world.api.objects["a"], "driftObserved").map(|entry| entry["reason"].clone());
            assert_eq!((value(&world), observed), (Some(7), Some("FieldsDiffer".into())), "{learned:?} {crashes:?}");
            let deleted: Vec<_> = events.iter().cloned().chain([Delete { object: 0 }]).chain(minutes(2)).collect();
            assert_eq!(value(&played(&deleted)).is_some(), is_known, "{learned:?} {crashes:?}");
            let other = Target { target: 0, text: Some(ADOPTING) };
            ends_well(events, [other, Delete { object: 0 }, Rest, Pass(70)], Ending::Free);
        }
    }
}

#[test]
fn a_former_target_ends_its_deletions_alone() {
    for learned in learned(Former) {
        let is_known = |who| learned.contains(&State { who, target: 0, state: Former });
        let created = [Create { object: 1, resource: 1, value: 1, labels: 1 }, Rest];
        let events = history(&[&learned, &created, &changed()]);
        let world = played(&events);
        assert_eq!((value(&world), world.outside.resources.get("r2")), (Some(7), None), "{learned:?}");
        let deleted: Vec<_> = events.iter().cloned().chain([Delete { object: 0 }]).chain(minutes(1)).collect();
        let world = played(&deleted);
        assert_eq!((value(&world), world.api.objects.get("a")), (None, None), "{learned:?}");
        let ended: Vec<_> = deleted.into_iter().chain(minutes(12)).collect();
        let observed = entry(&played(&ended).api.objects["b"], "driftObserved").map(|entry| entry["reason"].clone());
        assert_eq!(observed == Some("TargetMissing".into()), is_known(Poller), "{learned:?} {observed:?}");
        ends_well(ended, [Rest], Ending::Free);
    }
}

#[test]
fn a_restart_keeps_what_a_former_target_has() {
    for crashes in [vec![Crash(Controller)], vec![Crash(Poller), Crash(Controller)]] {
        let learned =
            [State { who: Poller, target: 0, state: Former }, State { who: Controller, target: 0, state: Former }];
        let events = history(&[&learned, &crashes, &[Rest, Delete { object: 0 }], &minutes(12)]);
        let world = played(&events);
        assert!(value(&world).is_some() && world.api.objects.contains_key("a"), "{crashes:?}");
        ends_well(events, [Rest], Ending::Free);
    }
}

#[test]
fn no_action_follows_without_a_live_text() {
    for state in [Former, Taken] {
        let learned = [State { who: Controller, target: 0, state }];
        let events = history(&[&learned, &changed()]);
        assert_eq!(value(&played(&events)), Some(7), "{state:?}");
    }
}

/// Returns every order of two sequences, each of two parts.
fn orders<'p>(first: [&'p [Event]; 2], second: [&'p [Event]; 2]) -> Vec<[&'p [Event]; 4]> {
    let ([a, b], [c, d]) = (first, second);
    vec![[a, b, c, d], [a, c, b, d], [a, c, d, b], [c, a, b, d], [c, a, d, b], [c, d, a, b]]
}

#[test]
fn a_replaced_config_map_is_taken_over_in_any_order() {
    let learns = |who: Who, state| {
        let live = [State { who, target: 0, state: Live }, Configure(who), Rest, Pass(20)];
        ([State { who, target: 0, state }, Rest, Pass(20)], live)
    };
    for (first, second) in [(Former, Former), (Former, Taken), (Taken, Former), (Taken, Taken)] {
        let ((a, b), (c, d)) = (learns(Poller, first), learns(Controller, second));
        for order in orders([&a, &b], [&c, &d]) {
            for text in [ADOPTING, Text { edition: 1, ..PLAIN }, Text { correct: false, ..PLAIN }] {
                let other = [Target { target: 0, text: Some(text) }, Change { resource: 0, value: 7 }];
                let events = history(&[&other, &order.concat()]);
                ends_well(events.clone(), [Rest], Ending::Free);
                ends_well(history(&[&[Rest, Delete { object: 0 }], &other, &order.concat()]), [Rest], Ending::Free);
            }
        }
    }
}
