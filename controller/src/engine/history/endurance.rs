//! Hours of one repeated situation. Bounds the number of requests and writes of the controller.

use std::time::Duration;

use drift_language::Existing;

use super::LONGEST_WAIT;
use super::event::{Answer, Event, Meanwhile, Mishap};
use super::world::World;
use crate::engine::fixtures::owns;

/// Seconds between two rounds of the long histories. It is below the longest delays, so that those are the bound.
const STEP: u64 = 10;

/// Runs the controller and the poller in turn for this many hours, and calls `between` after each round.
fn run_for(world: &mut World, hours: usize, answer: Answer, between: impl Fn(&mut World)) {
    for _ in 0..hours * 3600 / STEP as usize {
        world.apply(Event::Controller(answer, Mishap::None, Meanwhile::Nothing));
        world.begin_poll();
        world.end_poll();
        between(world);
        world.now += Duration::from_secs(STEP);
    }
}

#[test]
fn what_never_changes_is_asked_a_bounded_number_of_times() {
    let hours = 24;
    for (answer, present) in [
        (Answer::AcceptedWithoutEffect, true),
        (Answer::AcceptedWithoutEffect, false),
        (Answer::Refused, true),
        (Answer::Refused, false),
    ] {
        let mut world = World::new(Existing::Adopt, present.then_some(9));
        run_for(&mut world, hours, answer, |_| {});
        let attempts = world.target.limits.attempts as usize;
        let asked = world.requests.len();
        assert!((attempts..=attempts + hours).contains(&asked), "{answer:?} {present}: {asked}");
        let keys: std::collections::BTreeSet<_> = world.requests.iter().map(|request| &request.key).collect();
        assert_eq!(keys.len(), asked, "a definite outcome did not spend its number");
    }
}

#[test]
fn answers_that_never_come_are_noted_once() {
    let hours = 24;
    let mut world = World::new(Existing::Adopt, Some(9));
    run_for(&mut world, hours, Answer::LostBefore, |_| {});
    let (asked, slowest) = (world.requests.len(), hours * 3600 / 300);
    assert!(world.requests.windows(2).all(|pair| pair[0].key == pair[1].key));
    assert!((slowest..=slowest + 8).contains(&asked), "{asked}");
    assert_eq!(world.writes, 2, "the claim and one failure");
}

#[test]
fn a_secret_that_is_missing_for_hours_costs_one_write() {
    let hours = 6;
    let mut world = World::new(Existing::Adopt, Some(9));
    for _ in 0..hours * 3600 / STEP as usize {
        world.apply(Event::Controller(Answer::Done, Mishap::LacksSecret, Meanwhile::Nothing));
        world.begin_poll();
        world.end_poll();
        world.now += Duration::from_secs(STEP);
    }
    let (tries, slowest) = (world.unsent, hours * 3600 / 30);
    assert!((slowest..=slowest + 4).contains(&tries), "{tries}");
    assert_eq!((world.requests.len(), world.writes), (0, 1), "one failure is noted, and nothing claimed");
    world.now += Duration::from_secs(30);
    world.quiet_round(STEP);
    assert_eq!(world.requests.len(), 1, "no try that sent nothing is waited for any longer");
}

#[test]
fn a_war_is_slowed_down() {
    let hours = 6;
    let mut world = World::new(Existing::Adopt, Some(9));
    run_for(&mut world, hours, Answer::Done, |world| {
        world.apply(Event::ChangedOutside(9));
        world.begin_poll();
        world.end_poll();
    });
    // At most eight corrections in any ten minutes, because the pauses before the ninth add up to more.
    let asked = world.requests.len();
    assert!((hours * 6..=hours * 6 * 8).contains(&asked), "{asked}");
}

#[test]
fn an_edit_during_a_correction_is_made_by_the_next() {
    let mut world = World::new(Existing::Adopt, Some(9));
    world.quiet_round(STEP);
    world.apply(Event::Controller(Answer::Done, Mishap::None, Meanwhile::Edited(2)));
    assert_eq!((world.status().correction, world.status().generation), (1, Some(3)), "noted as what it was");
    world.apply(Event::Controller(Answer::Done, Mishap::None, Meanwhile::Nothing));
    assert_eq!(world.requests.len(), 1, "nothing is sent on a verdict of the old spec");
    world.apply(Event::PollBegins);
    world.apply(Event::PollEnds);
    world.quiet_round(STEP);
    assert_eq!(world.outside().map(|resource| resource.value), Some(2));
    assert_eq!((world.requests.len(), world.status().generation), (2, Some(4)));
}

#[test]
fn a_writer_who_is_always_faster_costs_few_tries() {
    let (hours, per_second) = (1, 50);
    let mut world = World::new(Existing::Adopt, Some(9));
    world.begin_poll();
    world.end_poll();
    for _ in 0..hours * 3600 * per_second {
        world.overtaken = 1;
        world.apply(Event::Controller(Answer::Done, Mishap::None, Meanwhile::Nothing));
        world.now += Duration::from_secs(1) / per_second;
    }
    assert!(world.requests.is_empty(), "sent without a claim");
    // Five in a row, then one after each 1, 2, 4 … 30 s.
    let most = 5 + (hours * 3600 / 30 + 6) as usize;
    assert!((most / 2..=most).contains(&world.lost_races), "{}", world.lost_races);
    world.overtaken = 0;
    world.now += Duration::from_secs(30);
    world.quiet_round(STEP);
    assert_eq!(world.outside().map(|resource| resource.value), Some(world.spec), "done once the other rests");
}

#[test]
fn a_note_that_was_taken_is_put_back_at_once() {
    let mut world = World::new(Existing::Adopt, Some(1));
    run_for(&mut world, 1, Answer::Done, |_| {});
    world.apply(Event::ChangedOutside(9));
    run_for(&mut world, 1, Answer::Done, |_| {});
    let noted = world.status();
    world.apply(Event::NoteTaken);
    world.apply(Event::Overtaken(1));
    for _ in 0..2 {
        world.apply(Event::Controller(Answer::Done, Mishap::None, Meanwhile::Nothing));
    }
    assert_eq!((world.status(), world.lost_races), (noted, 1), "a claim that stands in memory alone is lost with it");
}

#[test]
fn a_note_taken_ever_again_returns_each_minute() {
    let mut world = World::new(Existing::Adopt, Some(1));
    run_for(&mut world, 1, Answer::Done, |_| {});
    world.apply(Event::ChangedOutside(9));
    run_for(&mut world, 1, Answer::Done, |_| {});
    let (noted, writes) = (world.status(), world.writes);
    assert_eq!((noted.correction, noted.claim.clone()), (1, owns("db")));
    run_for(&mut world, 1, Answer::Done, |world| world.apply(Event::NoteTaken));
    assert!((50..=66).contains(&(world.writes - writes)), "{} in an hour", world.writes - writes);
    assert_eq!(world.requests.len(), 1, "nothing is corrected because of it");
    world.quiet_round(LONGEST_WAIT);
    world.quiet_round(LONGEST_WAIT);
    assert_eq!(world.status(), noted, "with its number and claim");
}

#[test]
fn a_deletion_that_is_not_done_is_asked_ever_less() {
    for (answer, is_definite) in
        [(Answer::AcceptedWithoutEffect, true), (Answer::Refused, true), (Answer::LostBefore, false)]
    {
        let hours = 6;
        let mut world = World::new(Existing::Adopt, None);
        world.target.actions.delete = true;
        (0..4).for_each(|_| world.quiet_round(STEP));
        assert!(world.object.has_finalizer() && world.requests.len() == 1, "{:?}", world.requests);
        world.apply(Event::Deleted);
        let writes = world.writes;
        run_for(&mut world, hours, answer, |_| {});
        let asked = world.requests.len() - 1;
        assert!((hours * 12..=hours * 12 + 8).contains(&asked), "{answer:?}: {asked}");
        let expected = if is_definite { asked } else { 1 };
        assert_eq!(world.writes - writes, expected, "{answer:?}");
        world.now += Duration::from_secs(300);
        (0..2).for_each(|_| world.quiet_round(STEP));
        assert!(world.gone && world.outside().is_none(), "{answer:?}");
    }
}
