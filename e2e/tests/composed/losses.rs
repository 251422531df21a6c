//! Known histories of a read that finds nothing: from the start, for some minutes, or after an edit.

use crate::events::Event;
use crate::events::Event::{Configure, Crash, Create, Delete, Edit, GiveUp, Hide, Pass, Relabel, Remove, Rest, Target};
use crate::known::{PLAIN, UNNAMED, active, ends_well, minutes, played};
use crate::ledger::entry;
use crate::quiet::Ending;
use crate::targets::Text;
use crate::world::Who::{Controller, Poller};
use crate::world::World;

/// Hides all resources from every read, or shows them again.
fn hide(hidden: bool) -> [Event; 3] {
    [0, 1, 2].map(|resource| Hide { resource, hidden })
}

/// Three objects, each for a resource of its own.
fn three_objects() -> [Event; 3] {
    [0, 1, 2].map(|index| Create { object: index, resource: index, value: 1, labels: 1 })
}

#[test]
fn a_read_that_finds_nothing_gets_one_create() {
    for crash in [vec![], vec![Crash(Controller)], vec![Crash(Poller)]] {
        let begun = hide(true).into_iter().chain(three_objects()).chain([Rest, Pass(5), Rest]).chain(crash);
        let events = active(UNNAMED, begun.chain(minutes(10)));
        assert_eq!(played(&events).outside.resources.len(), 1);
        let shown: Vec<_> = events.into_iter().chain(hide(false)).chain(minutes(10)).collect();
        assert_eq!(played(&shown).outside.resources.len(), 3);
        ends_well(shown, [Rest], Ending::Free);
    }
}

/// Two objects in sync, whose resources no read shows any more. `edited` happens in the same moment.
fn lost(text: Text, edited: &[Event]) -> Vec<Event> {
    let lost = hide(true).into_iter().chain(edited.iter().cloned()).chain(minutes(10));
    active(text, three_objects().into_iter().take(2).chain(minutes(3)).chain(lost))
}

fn reasons(world: &World) -> Vec<String> {
    let reason = |object| Some(entry(object, "driftObserved")?["reason"].as_str()?.to_owned());
    world.api.objects.values().filter_map(reason).collect()
}

/// Checks that nothing is created while the read finds nothing.
fn creates_nothing(events: &[Event]) {
    let world = played(events);
    assert_eq!((reasons(&world), world.outside.contradicted), (vec!["AllMissing".to_owned(); 2], 0));
    let shown: Vec<_> = events.iter().cloned().chain(hide(false)).chain(minutes(10)).collect();
    assert!(played(&shown).outside.contradicted == 0);
    ends_well(shown, [Rest], Ending::Free);
}

#[test]
fn an_empty_list_of_ten_minutes_creates_nothing() {
    for text in [PLAIN, UNNAMED] {
        for crashes in [vec![], vec![Crash(Poller)], vec![Crash(Poller), Crash(Controller)]] {
            creates_nothing(&lost(text, &crashes));
        }
    }
}

#[test]
fn a_loss_after_an_edit_creates_nothing() {
    let edits = [0, 1].map(|index| Edit { object: index, resource: index, value: 2 });
    for text in [PLAIN, UNNAMED] {
        let other = [Target { target: 0, text: Some(Text { adopt: true, ..text }) }];
        let (poller, controller) = ([Configure(Poller), Rest], [Configure(Controller), Rest]);
        for order in [
            [&edits[..], &other, &poller, &controller],
            [&other, &poller, &edits, &controller],
            [&other, &controller, &edits, &poller],
            [&other, &controller, &poller, &edits],
        ] {
            creates_nothing(&lost(text, &order.concat()));
        }
    }
}

#[test]
fn a_person_confirms_the_loss_of_a_deleted_object() {
    let plain = |target| Target { target, text: Some(Text { edition: 1, ..PLAIN }) };
    let begun = [plain(0), plain(1), Configure(Poller), Configure(Controller)];
    let created = [
        Create { object: 0, resource: 0, value: 2, labels: 1 },
        Rest,
        Pass(20),
        Rest,
        Create { object: 1, resource: 0, value: 3, labels: 2 },
        Pass(4),
        Target { target: 0, text: None },
        Rest,
    ];
    let lost = [
        Delete { object: 0 },
        Remove { resource: 0 },
        GiveUp { object: 1, resource: Some(0) },
        Relabel { object: 0, labels: 3 },
    ];
    ends_well(begun.into_iter().chain(created).collect(), lost, Ending::Free);
}
