//! Known failures: the shortest history of each kind, named after what it shows.
//!
//! The random histories search for more. Each history must fail with a patch in `e2e/mutants` that names it: otherwise
//! it does not reach its state any more.

use crate::events::Event::{
    Absence, Advance, Alter, Ask, Attend, Bar, Configure, Crash, Create, Delete, Deliver, Edit, List, Make, Move,
    NeverDone, Pass, Pause, RefuseCredential, RefuseStatus, Relabel, Remove, Replay, Rest, SetBack, Step, Strip,
    StripFinalizer, TakeSecret, Target,
};
use crate::events::{Event, apply};
use crate::history::History;
use crate::jobs::JobEvent;
use crate::ledger::entry;
use crate::outside::Fault;
use crate::quiet::{Ending, War};
use crate::targets::{KEYLESS, Text};
use crate::world::Who::{Controller, Poller};
use crate::world::World;

/// A target that corrects and deletes, and does not adopt existing resources.
pub(crate) const PLAIN: Text = Text {
    correct: true,
    adopt: false,
    deletes: true,
    suspended: false,
    replaces: false,
    elsewhere: false,
    edition: 0,
    approves: false,
    has_windows: false,
    for_each: false,
    publishes: false,
    lists: false,
    by_job: false,
    reports: false,
};

/// Returns a history in which both programs have the first target, followed by these events.
pub(crate) fn active(text: Text, events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let begun = [Target { target: 0, text: Some(text) }, Configure(Poller), Configure(Controller)];
    begun.into_iter().chain(events).collect()
}

/// Returns a history with the first target, one object for the first resource, and both programs running.
pub(crate) fn one_object() -> Vec<Event> {
    active(PLAIN, [Create { object: 0, resource: 0, value: 1, labels: 1 }, Rest, Pass(10)])
}

pub(crate) fn ends_well(before: Vec<Event>, events: impl IntoIterator<Item = Event>, ending: Ending) {
    let history = History { events: before.into_iter().chain(events).collect(), ending };
    assert_eq!(history.play(), Ok(()));
}

/// Returns minutes without an event, in which no task runs into its deadline.
pub(crate) fn minutes(count: usize) -> Vec<Event> {
    [Pass(5), Rest].into_iter().cycle().take(24 * count).collect()
}

/// Plays the events. Returns the world after them.
pub(crate) fn played(events: &[Event]) -> World {
    let mut world = World::default();
    for event in events {
        apply(&mut world, event);
        assert_eq!(world.ledger.violation, None, "{event:?}");
    }
    world
}

#[test]
fn objects_of_two_targets_never_own_one_resource() {
    let targets = vec![Target { target: 0, text: Some(PLAIN) }, Target { target: 1, text: Some(PLAIN) }];
    let created = [
        Create { object: 0, resource: 0, value: 1, labels: 1 },
        Create { object: 1, resource: 0, value: 2, labels: 2 },
    ];
    ends_well(targets.clone(), created, Ending::Free);
    let edited = [
        Create { object: 0, resource: 0, value: 1, labels: 1 },
        Create { object: 1, resource: 1, value: 2, labels: 2 },
        Edit { object: 1, resource: 0, value: 1 },
    ];
    ends_well(targets, edited, Ending::Free);
}

#[test]
fn an_answer_about_something_else_is_no_drift() {
    // Three polls in a row, because one alone is not believed.
    let poll = [Attend(Poller), Step(Poller, 0, Fault::Maintenance), Pass(3)];
    let polls = poll.clone().into_iter().chain(poll.clone()).chain(poll);
    ends_well(one_object(), [Rest, Pass(10), Rest, Pass(61)].into_iter().chain(polls).chain([Rest]), Ending::Free);
}

#[test]
fn a_claim_that_was_cleaned_up_stays_lost() {
    let events = [Rest, Rest, Absence { target: 0, seconds: 700 }, Rest, Rest];
    ends_well(one_object(), events.clone(), Ending::Free);
    let changed = [Rest, Rest, Event::Change { resource: 0, value: 2 }, Absence { target: 0, seconds: 700 }];
    ends_well(one_object(), changed, Ending::Free);
}

#[test]
fn a_deletion_waits_for_no_refused_status() {
    let events = [Rest, Delete { object: 0 }, RefuseCredential(true), RefuseStatus(true), Rest];
    ends_well(one_object(), events, Ending::StatusRefused);
}

#[test]
fn a_deletion_that_is_never_done_ends_by_a_poll() {
    let edition = Text { edition: 2, ..PLAIN };
    let created = Create { object: 0, resource: 0, value: 1, labels: 1 };
    let begun = active(edition, [created, Rest, Pass(10), Rest, NeverDone, Delete { object: 0 }]);
    ends_well(begun.clone(), [Rest], Ending::Free);
    ends_well(begun.clone(), [Rest, Crash(Controller), Rest, Crash(Poller), Rest], Ending::Free);
    ends_well(begun, [Attend(Controller), Step(Controller, 0, Fault::None), Crash(Controller), Rest], Ending::Free);
}

#[test]
fn a_resource_that_moved_away_keeps_its_object() {
    let moved = |resource| [Rest, Pass(10), Rest, Move { resource, away: true }, Delete { object: 0 }, Rest];
    let back = [Move { resource: 0, away: false }, Rest];
    let pass = [Pass(30), Rest, Pass(30), Rest];
    let table: [&[Event]; 5] = [
        &[],
        &pass,
        &[Crash(Controller), Rest],
        &[Crash(Poller), Rest, Pass(700), Rest],
        &[Crash(Poller), Crash(Controller), Rest, Event::Retry { object: 0, request: 1 }, Rest],
    ];
    for between in table {
        let events: Vec<_> = moved(0).into_iter().chain(between.iter().cloned()).collect();
        ends_well(one_object(), events.iter().cloned().chain(back.clone()), Ending::Free);
        let removed = [Remove { resource: 0 }, Rest];
        ends_well(one_object(), events.iter().cloned().chain(removed), Ending::Free);
        let unread = [RefuseCredential(true), Rest, RefuseCredential(false), Rest];
        ends_well(one_object(), events.into_iter().chain(unread).chain(back.clone()), Ending::Free);
    }
}

#[test]
fn a_secret_that_was_missing_is_sent_once_there() {
    let pass = |seconds| Event::Pass(seconds);
    let events = [TakeSecret(true), Rest, pass(60), Rest, Delete { object: 0 }, Rest, TakeSecret(false), Rest];
    ends_well(one_object(), events, Ending::Free);
    let back = [TakeSecret(true), Rest, pass(60), Rest, TakeSecret(false), Rest];
    ends_well(one_object(), back, Ending::Free);
}

#[test]
fn a_create_that_was_turned_away_owns_nothing() {
    let events = [RefuseCredential(true), Rest, Rest, Make { resource: 0, value: 0 }, Rest];
    ends_well(one_object(), events, Ending::Free);
}

#[test]
fn another_writer_is_answered_at_our_own_pace() {
    let taken = vec![
        Make { resource: 0, value: 1 },
        Target { target: 0, text: Some(PLAIN) },
        Create { object: 0, resource: 0, value: 0, labels: 1 },
    ];
    for war in [War::StripCorrected, War::AlterCorrected, War::StripFinalizer, War::StripObserved, War::AlterObserved] {
        ends_well(one_object(), [], Ending::War(war));
        ends_well(taken.clone(), [], Ending::War(war));
    }
}

#[test]
fn what_no_read_shows_is_created_once() {
    let text = Text { deletes: false, ..PLAIN };
    let begun = active(text, [Create { object: 0, resource: 0, value: 1, labels: 1 }]);
    ends_well(begun, [Rest], Ending::War(War::Hide));
}

#[test]
fn a_poll_before_a_request_does_not_answer_it() {
    let polled = [Rest, Pass(23), Step(Poller, 0, Fault::None), Ask { object: 0, request: 3 }];
    let created = [Create { object: 0, resource: 0, value: 0, labels: 1 }];
    ends_well(active(Text { adopt: true, ..PLAIN }, created), polled, Ending::Free);
}

#[test]
fn a_verdict_before_two_edits_is_not_acted_on() {
    let begun = active(PLAIN, [Create { object: 0, resource: 0, value: 1, labels: 1 }, Rest, Pass(3)]);
    let polled = [Advance(Poller, 4), Attend(Poller), Advance(Poller, 4)];
    // The desired state is the same again, and its generation is another one.
    let edited = [0, 1].map(|value| Edit { object: 0, resource: 0, value });
    ends_well(begun, polled.into_iter().chain(edited).chain([Rest]), Ending::StatusRefused);
}

#[test]
fn a_replayed_verdict_is_not_acted_on() {
    let change = |value| Event::Change { resource: 0, value };
    // Drift that went by itself while the object was paused, so that no correction came after it.
    let drifted = [Pause { object: 0, paused: true }, change(7)].into_iter().chain(minutes(2)).chain([change(1)]);
    let passed = drifted.chain(minutes(2)).chain([Pause { object: 0, paused: false }, Rest]);
    // The controller hears it before the poller.
    let replayed = [Replay { object: 0 }, Deliver(Controller, 9), Attend(Controller), Advance(Controller, 9)];
    let events: Vec<_> = one_object().into_iter().chain(minutes(3)).chain(passed).chain(replayed).collect();
    let world = played(&events);
    let noted = entry(&world.api.objects["a"], "driftCorrected").and_then(|entry| entry["message"].as_str());
    assert!(noted.is_some_and(|noted| noted.starts_with("correction 1, ")), "{noted:?}");
    ends_well(events, [Rest], Ending::Free);
}

#[test]
fn transition_times_never_go_backwards() {
    ends_well(one_object(), [Rest, SetBack(64), Pass(7), Rest], Ending::Free);
}

#[test]
fn another_request_has_another_key() {
    let doubtful = || one_object().into_iter().chain([RefuseCredential(true), Rest, Rest]).collect::<Vec<_>>();
    ends_well(doubtful(), [Edit { object: 0, resource: 0, value: 0 }], Ending::Free);
    let other = Text { edition: 1, ..PLAIN };
    ends_well(doubtful(), [Target { target: 0, text: Some(other) }], Ending::Free);
    let moved = [Target { target: 1, text: Some(other) }, Relabel { object: 0, labels: 2 }];
    ends_well(doubtful(), moved, Ending::Free);
}

#[test]
fn a_lost_status_repeats_no_key() {
    let events = [Rest, Edit { object: 0, resource: 0, value: 2 }, Strip { object: 0, observed: false }];
    let crashed = events.into_iter().chain([Remove { resource: 0 }, Crash(Controller)]);
    ends_well(one_object(), crashed, Ending::Free);
    ends_well(one_object(), [Rest, Alter { object: 0, observed: false, value: 1 }, Crash(Controller)], Ending::Free);
}

#[test]
fn a_change_during_a_look_up_is_noticed() {
    let looks_up = Target { target: 0, text: Some(Text { edition: 1, ..PLAIN }) };
    let edited = Edit { object: 0, resource: 0, value: 2 };
    let polled = [Deliver(Poller, 9), Attend(Poller), Advance(Poller, 2), Attend(Poller), Advance(Poller, 2)];
    // Live read and look-up. The second read follows.
    let looked_up = [Deliver(Controller, 9), Attend(Controller), Advance(Controller, 3)];
    for change in [Pause { object: 0, paused: true }, Delete { object: 0 }, Edit { object: 0, resource: 0, value: 1 }] {
        let created =
            [looks_up.clone(), Configure(Poller), Configure(Controller), Rest, Pass(10), Rest, Pass(10), Rest];
        let events =
            created.into_iter().chain([Pass(2), edited.clone()]).chain(polled.clone()).chain(looked_up.clone());
        ends_well(one_object(), events.chain([change, Advance(Controller, 4)]), Ending::Free);
    }
}

#[test]
fn a_late_write_spares_the_object_made_anew() {
    let observes = Target { target: 0, text: Some(Text { correct: false, ..PLAIN }) };
    let created = Create { object: 0, resource: 0, value: 1, labels: 1 };
    // The verdict that the resource exists is on its way to the first object of this name.
    let first = [Rest, Make { resource: 0, value: 1 }, Crash(Poller), List(Poller), Attend(Poller), Advance(Poller, 2)];
    let second = [Attend(Poller), Remove { resource: 0 }, Delete { object: 0 }, created.clone(), Deliver(Poller, 9)];
    // The verdict on the second object uses the record of the first.
    let step = || Step(Poller, 1, Fault::None);
    let polled = [Attend(Poller), step(), step(), Pass(2), step(), step(), Attend(Poller), step(), step()];
    let before = vec![observes, Configure(Poller), created, Rest, Pass(10)];
    let events = first.into_iter().chain(second).chain(polled).chain([Advance(Poller, 1)]);
    ends_well(before, events, Ending::Free);
}

#[test]
fn what_a_lost_answer_took_away_is_not_missed() {
    for steps in 0..8 {
        let deleted = [
            Rest,
            Pass(40),
            Rest,
            Delete { object: 0 },
            Deliver(Controller, 5),
            Attend(Controller),
            Advance(Controller, steps),
        ];
        let lost = [Step(Controller, 0, Fault::LostAfter), Rest, Pass(10), Rest];
        ends_well(one_object(), deleted.into_iter().chain(lost), Ending::Free);
    }
}

/// The same target with corrections by Jobs.
const BY_JOB: Text = Text { by_job: true, ..PLAIN };

#[test]
fn a_claim_under_way_is_of_what_was_named() {
    let made = [
        Create { object: 0, resource: 0, value: 1, labels: 3 },
        Create { object: 1, resource: 0, value: 2, labels: 1 },
        Rest,
        Pass(8),
        Rest,
        Pass(2),
    ];
    // The Job is under way when another writer removes the claim, and the object names another resource.
    let begun = [Deliver(Controller, 9), Attend(Controller), Advance(Controller, 12)];
    let lost = [Strip { object: 0, observed: false }, Edit { object: 0, resource: 1, value: 2 }];
    let time = [Rest, Pass(4), Rest, Pass(4), Rest, Pass(10), Rest, Pass(20), Rest];
    let events = made.into_iter().chain(begun).chain(lost).chain(time);
    ends_well(active(Text { adopt: true, ..BY_JOB }, events), [], Ending::Free);
}

/// The same target with adoption of existing resources.
const ADOPTING: Text = Text { adopt: true, ..PLAIN };

/// Returns a history in which an object that owns the first resource leaves its target, and a new one adopts the
/// resource. The new one never waited for the first one, so it does not read its claim.
fn adopted_meanwhile() -> Vec<Event> {
    let owned = [Create { object: 0, resource: 0, value: 1, labels: 1 }, Rest, Pass(20), Rest];
    let left = [Relabel { object: 0, labels: 0 }, Rest];
    let adopted = [Create { object: 1, resource: 0, value: 2, labels: 1 }, Rest, Pass(20), Rest];
    active(ADOPTING, owned.into_iter().chain(left).chain(adopted))
}

#[test]
fn an_old_claim_that_comes_back_is_void() {
    let back = || Relabel { object: 0, labels: 1 };
    let change = || Event::Change { resource: 0, value: 7 };
    for events in [
        vec![back()],
        vec![back(), Delete { object: 0 }],
        vec![back(), Rest, Delete { object: 1 }, Rest],
        vec![RefuseStatus(true), back(), Rest, Crash(Controller), Rest],
        vec![back(), Edit { object: 0, resource: 1, value: 2 }],
        vec![back(), change(), Rest, Strip { object: 0, observed: false }],
        vec![back(), Rest, Crash(Poller), change(), Rest],
        vec![back(), Rest, Crash(Controller), change(), Rest],
        vec![back(), Rest, Crash(Poller), Crash(Controller), change(), Rest],
    ] {
        ends_well(adopted_meanwhile(), events, Ending::Free);
    }
}

#[test]
fn an_object_that_leaves_during_its_correction_is_waited_for() {
    let before = || {
        let begun = [
            Event::Jobs(JobEvent::StandStill(true)),
            Create { object: 0, resource: 0, value: 1, labels: 1 },
            Create { object: 1, resource: 0, value: 2, labels: 1 },
            Rest,
            Pass(2),
            Rest,
        ];
        active(BY_JOB, begun)
    };
    let polled = [Rest, Pass(2), Rest, Pass(2), Rest];
    for leaves in [vec![Relabel { object: 0, labels: 0 }], vec![StripFinalizer { object: 0 }, Delete { object: 0 }]] {
        ends_well(before(), leaves.into_iter().chain(polled.clone()), Ending::Free);
    }
}

/// Returns a history with two targets, each with an object for the first resource.
fn wanted_by_two_targets() -> Vec<Event> {
    let begun = [
        Target { target: 1, text: Some(ADOPTING) },
        Configure(Poller),
        Configure(Controller),
        Create { object: 0, resource: 0, value: 1, labels: 1 },
        Create { object: 1, resource: 0, value: 2, labels: 2 },
        Rest,
        Pass(2),
        Rest,
    ];
    active(ADOPTING, begun)
}

/// Restarts each program, with the second target's list readable or rejected.
fn begin_anew(rejected: bool) -> impl Iterator<Item = Event> {
    [Poller, Controller].into_iter().flat_map(move |who| [Bar { who, target: 1, rejected }, Crash(who), List(who)])
}

#[test]
fn a_restart_with_an_unread_list_takes_nothing() {
    let polled = || [Rest, Pass(100), Rest];
    // It leaves, and its claim stays.
    let left = || [Relabel { object: 0, labels: 0 }, RefuseCredential(false), Pass(2)].into_iter().chain(polled());
    // Its last correction failed, and it is already in the desired state on its return. Or it returns under another
    // name.
    let failed = vec![RefuseCredential(true), Event::Change { resource: 0, value: 7 }, Pass(100), Rest];
    let as_desired = vec![Event::Change { resource: 0, value: 1 }];
    let renamed = vec![Make { resource: 1, value: 7 }, Edit { object: 0, resource: 1, value: 1 }];
    for (before, meanwhile) in [(failed, as_desired), (Vec::new(), renamed)] {
        let left = before.into_iter().chain(left());
        // The other object is unknown then.
        let back = begin_anew(true).chain(meanwhile).chain([Relabel { object: 0, labels: 1 }]).chain(polled());
        ends_well(wanted_by_two_targets(), left.chain(back).chain(begin_anew(false)).chain([Rest]), Ending::Free);
    }
}

#[test]
fn a_claim_is_of_a_name_whoever_made_it() {
    let before = active(
        Text { edition: 1, ..ADOPTING },
        [
            Create { object: 0, resource: 0, value: 1, labels: 1 },
            Create { object: 1, resource: 0, value: 2, labels: 3 },
            Make { resource: 0, value: 2 },
            Rest,
            Delete { object: 0 },
            Rest,
        ],
    );
    let events = [
        Target { target: 0, text: None },
        Remove { resource: 0 },
        Target { target: 1, text: Some(Text { deletes: false, ..PLAIN }) },
        Make { resource: 0, value: 2 },
        Event::Rotate,
    ];
    ends_well(before, events, Ending::Free);
}

#[test]
fn a_resource_named_during_a_correction_is_left() {
    let made = [0, 1].map(|index| Create { object: index, resource: index, value: 1, labels: 1 });
    // The Job of the update is under way when the object names the resource of the deleted one.
    let edited = [
        Event::Jobs(JobEvent::StandStill(true)),
        Edit { object: 0, resource: 0, value: 0 },
        Rest,
        Pass(8),
        Rest,
        Edit { object: 0, resource: 1, value: 2 },
        Delete { object: 1 },
        Rest,
    ];
    ends_well(active(BY_JOB, made.into_iter().chain(minutes(3))), edited, Ending::Free);
}

/// The same target with creates that make another resource each time.
pub(crate) const UNNAMED: Text = Text { edition: KEYLESS, ..PLAIN };

/// Plays these events after a create whose first requests, up to any step, are answered, and whose next one is lost.
/// They must end well.
fn creates_are_counted(lost: Fault, events: &[Event]) {
    for steps in 0..9 {
        let created = Create { object: 0, resource: 0, value: 1, labels: 1 };
        let made = [created, Rest, Pass(10), Rest, Pass(10), Rest, Remove { resource: 0 }, Pass(60)];
        // Absence is confirmed by the second poll.
        let poll = [Deliver(Poller, 9), Attend(Poller), Advance(Poller, 4), Pass(3)];
        let polls = poll.clone().into_iter().chain(poll.clone()).chain(poll);
        let begun = [Event::Renew, Deliver(Controller, 9), Attend(Controller), Advance(Controller, steps)];
        let begun = begun.into_iter().chain([Step(Controller, 0, lost)]);
        let before = active(UNNAMED, made.into_iter().chain(polls).chain(begun));
        let events = before.into_iter().chain(events.iter().cloned()).collect();
        assert_eq!(History { events, ending: Ending::Free }.play(), Ok(()), "after {steps} steps");
    }
}

#[test]
fn a_create_that_takes_effect_late_is_waited_for() {
    let minutes = [Rest, Pass(5), Rest, Pass(5), Rest, Pass(10), Rest, Pass(20), Rest, Pass(40), Rest];
    creates_are_counted(Fault::Late, &minutes);
}

#[test]
fn a_create_of_the_former_leader_is_waited_for() {
    let crashed: Vec<_> = [Crash(Controller), Rest, Pass(5), Rest, Pass(10), Rest, Pass(40), Rest].into();
    creates_are_counted(Fault::Late, &crashed);
    let both: Vec<_> = [Crash(Poller), Crash(Controller), Rest, Pass(5), Rest, Pass(10), Rest, Pass(40), Rest].into();
    creates_are_counted(Fault::Late, &both);
}

#[test]
fn an_accepted_create_that_no_read_shows_is_not_repeated() {
    let minutes = [Rest, Pass(20), Rest, Pass(60), Rest, Pass(600), Rest, Pass(600), Rest];
    let hidden: Vec<_> = [Event::Hide { resource: 0, hidden: true }].into_iter().chain(minutes).collect();
    creates_are_counted(Fault::None, &hidden);
}

#[test]
fn a_deletion_waits_for_a_create_in_doubt() {
    let deleted = [Delete { object: 0 }, Rest, Pass(5), Rest, Pass(10), Rest, Pass(30), Rest, Pass(90), Rest];
    creates_are_counted(Fault::Late, &deleted);
}
