//! Known histories of replacements: complete ones, and ones that are cut in two.

use std::collections::BTreeSet;

use http::Method;

use crate::events::Event;
use crate::events::Event::{
    Advance, Answer, AnswerDeletions, Attend, Crash, Create, Deliver, Edit, Pass, Remove, Renew, Rest, Retry, Step,
};
use crate::known::{PLAIN, active, ends_well, minutes, played};
use crate::ledger::entry;
use crate::outside::Fault;
use crate::quiet::Ending;
use crate::targets::{KEYLESS, Text};
use crate::world::Who::{Controller, Poller};
use crate::world::World;

/// A target that replaces what has another zone.
const REPLACING: Text = Text { replaces: true, ..PLAIN };

/// Returns a history in which an object in sync needs a replacement, up to the controller's first step.
fn edited(text: Text) -> Vec<Event> {
    let created = [Create { object: 0, resource: 0, value: 1, labels: 1 }];
    let edited = [Edit { object: 0, resource: 0, value: 2 }, Pass(3)];
    let poll = [Deliver(Poller, 9), Attend(Poller), Advance(Poller, 2), Attend(Poller), Advance(Poller, 2)];
    let begun = [Renew, Deliver(Controller, 9), Attend(Controller)];
    active(text, created.into_iter().chain(minutes(1)).chain(edited).chain(poll).chain(begun))
}

/// Returns the methods of all requests in order.
fn methods(world: &World) -> Vec<Method> {
    world.outside.sent.iter().map(|written| written.method.clone()).collect()
}

fn deletions(world: &World) -> usize {
    methods(world).iter().filter(|method| **method == Method::DELETE).count()
}

fn value(world: &World) -> Option<i64> {
    Some(world.outside.resources.get("r1")?.value)
}

/// Returns the message of the note on the object.
fn note(world: &World) -> String {
    let note = entry(&world.api.objects["a"], "driftCorrected").and_then(|note| note["message"].as_str());
    note.unwrap_or_default().to_owned()
}

fn with(before: &[Event], after: impl IntoIterator<Item = Event>) -> Vec<Event> {
    before.iter().cloned().chain(after).collect()
}

#[test]
fn what_cannot_be_changed_is_replaced_in_one_correction() {
    let world = played(&with(&edited(REPLACING), minutes(2)));
    let create = [Method::POST, Method::PUT];
    assert_eq!(methods(&world), [&create[..], &[Method::DELETE], &create].concat());
    assert_eq!(value(&world), Some(2));
    assert!(note(&world).starts_with("correction 2, owns"), "{}", note(&world));
}

#[test]
fn a_replacement_cut_in_two_goes_on() {
    for text in [REPLACING, Text { deletes: false, edition: KEYLESS, ..REPLACING }] {
        let begun = edited(text);
        let ends = [Fault::LostBefore, Fault::LostAfter, Fault::Late, Fault::Refused];
        let cuts = with(&ends.map(|end| Step(Controller, 0, end)), [Crash(Controller)]);
        let mut cut_in_two = 0;
        // Live read, preparation, claim, and the requests.
        for (steps, cut) in (4..12).flat_map(|steps| cuts.iter().map(move |cut| (steps, cut))) {
            let events = with(&begun, [Advance(Controller, steps), cut.clone()]);
            cut_in_two += usize::from(methods(&played(&events)).last() == Some(&Method::DELETE));
            // No poll comes before the next look of the controller.
            let events = with(&events, [Attend(Controller), Advance(Controller, 20), Pass(1), Attend(Controller)]);
            ends_well(events.clone(), minutes(2), Ending::Free);
            let sent = methods(&played(&with(&events, minutes(2))));
            let deletions = sent.iter().filter(|method| **method == Method::DELETE).count();
            assert!(deletions <= 2 && sent.len() <= 9, "{steps} {cut:?} {sent:?}");
        }
        assert!(cut_in_two > 0, "no history ends between the deletion and the create");
    }
}

#[test]
fn a_deletion_under_way_is_asked_for_again() {
    let ignored = [AnswerDeletions(Fault::Maintenance)];
    let begun = with(&ignored, edited(Text { edition: 2, ..REPLACING }));
    let world = played(&with(&begun, minutes(5)));
    let keys: BTreeSet<_> = world.outside.sent.iter().map(|written| &written.key).collect();
    assert_eq!(keys.len(), world.outside.sent.len(), "{keys:?}");
    assert_eq!((deletions(&world), value(&world)), (3, Some(1)), "the attempts of the target");
    let creates = methods(&world).iter().filter(|method| **method == Method::POST).count();
    assert_eq!(creates, 1, "nothing is made before the deletion is done");
    let events = with(&begun, [Rest, Remove { resource: 0 }].into_iter().chain(minutes(5)));
    let world = played(&events);
    assert_eq!(value(&world), Some(2), "{} {:#?}", note(&world), world.outside.sent);
    ends_well(events, [Rest], Ending::Free);
}

#[test]
fn a_replacement_in_vain_waits_for_a_person() {
    let mut ignored = edited(REPLACING);
    let edit = ignored.iter().position(|event| matches!(event, Edit { .. })).unwrap_or_default();
    ignored.insert(edit, Answer(Fault::Maintenance));
    let hours = with(&ignored, minutes(120));
    let world = played(&hours);
    assert_eq!((deletions(&world), value(&world)), (1, Some(1)));
    assert!(note(&world).contains("not replaced again"), "{}", note(&world));
    let asked = with(&hours, [Retry { object: 0, request: 1 }].into_iter().chain(minutes(60)));
    assert_eq!(deletions(&played(&asked)), 2);
    ends_well(hours, [Rest], Ending::Free);
}
