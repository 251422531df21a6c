//! Known histories of hours in one situation: they bound the requests and writes of the controller.

use std::collections::BTreeSet;

use crate::events::Event;
use crate::events::Event::{Answer, AnswerDeletions, Create, Delete, Make, Pass, Rest, TakeSecret};
use crate::known::{PLAIN, active, ends_well, minutes, played};
use crate::outside::Fault;
use crate::quiet::Ending;
use crate::targets::Text;
use crate::world::World;

/// A target that adopts, and corrects by one request at a time.
const ADOPTING: Text = Text { adopt: true, ..PLAIN };
/// Hours of a history.
const HOURS: usize = 6;
/// Attempts of a target.
const ATTEMPTS: usize = 3;

/// Returns hours in which nothing else happens.
fn hours(count: usize) -> Vec<Event> {
    [Pass(30), Rest].into_iter().cycle().take(count * 240).collect()
}

/// Returns hours in which the system ends each request like this, for an object whose resource differs.
fn always(fault: Fault) -> Vec<Event> {
    let begun = [Make { resource: 0, value: 9 }, Answer(fault)];
    let created = [Create { object: 0, resource: 0, value: 1, labels: 1 }, Rest];
    active(ADOPTING, begun.into_iter().chain(created).chain(hours(HOURS)))
}

/// Returns the idempotency keys of the requests.
fn keys(world: &World) -> BTreeSet<&str> {
    world.outside.sent.iter().map(|written| &*written.key).collect()
}

/// Returns the number of writes to objects by both programs.
fn writes_in(events: &[Event]) -> usize {
    played(events).ledger.writes
}

#[test]
fn what_never_changes_is_asked_a_bounded_number_of_times() {
    for fault in [Fault::Maintenance, Fault::Refused] {
        let events = always(fault);
        let world = played(&events);
        let asked = world.outside.sent.len();
        assert!((ATTEMPTS..=ATTEMPTS + HOURS).contains(&asked), "{fault:?}: {asked}");
        assert_eq!(keys(&world).len(), asked, "a definite outcome spends its number");
        ends_well(events, [Rest], Ending::Free);
    }
}

#[test]
fn answers_that_never_come_are_noted_once() {
    let events = always(Fault::LostBefore);
    let world = played(&events);
    let (asked, slowest) = (world.outside.sent.len(), HOURS * 3600 / 300);
    assert_eq!(keys(&world).len(), 1, "an outcome in doubt keeps its number");
    assert!((slowest - 2..=slowest + 8).contains(&asked), "{asked}");
    assert_eq!(
        world.ledger.writes,
        writes_in(&events[..events.len() / HOURS]),
        "nothing is written after the first hour"
    );
    ends_well(events, [Rest], Ending::Free);
}

#[test]
fn a_missing_secret_costs_one_write_in_hours() {
    let begun = [Make { resource: 0, value: 9 }, TakeSecret(true)];
    let created = [Create { object: 0, resource: 0, value: 1, labels: 1 }, Rest];
    let events = active(ADOPTING, begun.into_iter().chain(created).chain(hours(HOURS)));
    let world = played(&events);
    // The verdict, the finalizer and one failure.
    assert_eq!((world.outside.sent.len(), world.ledger.writes), (0, 3));
    let back = [TakeSecret(false), Rest, Pass(30), Rest];
    let world = played(&events.iter().cloned().chain(back).collect::<Vec<_>>());
    assert_eq!(world.outside.sent.len(), 1, "no try that sent nothing is waited for any longer");
    ends_well(events, [Rest], Ending::Free);
}

#[test]
fn a_deletion_that_is_not_done_is_asked_ever_less() {
    // Edition 2 takes 404 alone as done.
    for (fault, is_definite) in [(Fault::Maintenance, true), (Fault::Refused, true), (Fault::LostBefore, false)] {
        let created = [Create { object: 0, resource: 0, value: 1, labels: 1 }];
        let begun = active(Text { edition: 2, ..PLAIN }, created.into_iter().chain(minutes(2)));
        let before = begun.len();
        let deleted = [AnswerDeletions(fault), Delete { object: 0 }].into_iter().chain(hours(HOURS));
        let events: Vec<_> = begun.into_iter().chain(deleted).collect();
        let (sent, writes) = (played(&events[..before]).outside.sent.len(), writes_in(&events[..before]));
        let asked = played(&events).outside.sent.len() - sent;
        assert!((HOURS * 11..=HOURS * 12 + 10).contains(&asked), "{fault:?}: {asked}");
        // Each number is recorded by the controller, and verified by the poller.
        let most = if is_definite { 2 * asked } else { 2 };
        assert!(writes_in(&events) - writes <= most, "{fault:?}");
        ends_well(events, [Rest], Ending::Free);
    }
}
