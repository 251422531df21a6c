//! A random history: generated from a seed, played, and reduced to the shortest one that fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use drift_language::TargetState;

use crate::events::{Event, RESOURCES, apply, event, object_event, text};
use crate::outside::FAULTS;
use crate::quiet::{Ending, WARS, come_to_rest};
use crate::random::Random;
use crate::targets::{NAMES, Text};
use crate::world::{Who, World};

/// Maximum number of events in a random history.
const MOST_EVENTS: u8 = 90;

/// Distinguishes the random numbers of states from those of the other events.
const STATES: u64 = 0x5354_4154_4553;

/// Distinguishes the random numbers of replacements from those of the other events.
const REPLACEMENTS: u64 = 0x5245_504c_4143_4553;

/// The same for scopes.
const SCOPES: u64 = 0x0053_434f_5045_5300;

/// The same for other variants of the texts.
const VARIANTS: u64 = 0x5641_5249_414e_5453;

/// One of this many histories uses a kind without generations.
const UNGENERATED_ONE_IN: u8 = 8;

/// The start of a history. By chance alone, hardly any of ten thousand has two claims at a start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    Any,
    /// A resource has changed its owner.
    HandedOver,
    /// Both programs restart, and may know only one of the two objects that name a resource.
    Hidden,
    /// An event interrupts each correction.
    Stepwise,
}

/// The error of a history that ends in a panic.
pub(crate) const PANICS: &str = "it panics";

/// The events, and the rejections that stay to the end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct History {
    pub(crate) events: Vec<Event>,
    pub(crate) ending: Ending,
}

impl History {
    /// Returns the history of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::of(seed);
        let ending = match random.below(40) {
            0..5 => Ending::StatusRefused,
            5 => Ending::War(WARS[usize::from(random.below(7))]),
            _ => Ending::Free,
        };
        let opening = match random.below(8) {
            0..2 => Opening::HandedOver,
            2 => Opening::Hidden,
            3..6 => Opening::Stepwise,
            _ => Opening::Any,
        };
        let mut events = match opening {
            Opening::Any => beginning(&mut random),
            Opening::HandedOver => handed_over(&mut random),
            Opening::Hidden => hidden(&mut random),
            Opening::Stepwise => stepwise(&mut random),
        };
        if random.one_in(UNGENERATED_ONE_IN) {
            events.insert(0, Event::Ungenerated);
        }
        let length = 10 + random.below(MOST_EVENTS - 10);
        events.extend((0..length).map(|_| match opening {
            Opening::HandedOver if random.one_in(4) => back(&mut random),
            Opening::Hidden if random.one_in(3) => hiding(&mut random),
            _ => event(&mut random),
        }));
        if opening == Opening::Any && random.one_in(3) {
            events.iter_mut().for_each(work_for_one_target);
        }
        request_polls(&mut events, Random::of(!seed));
        replace_some(&mut events, Random::of(seed ^ REPLACEMENTS));
        move_some(&mut events, Random::of(seed ^ SCOPES));
        vary_some(&mut events, ending, Random::of(seed ^ VARIANTS));
        Self { events, ending }
    }

    /// Returns the history of a seed in which the programs also learn other states of the targets. The numbers are of
    /// their own, so that the other events stay.
    pub(crate) fn governed(seed: u64) -> Self {
        let (mut history, mut random) = (Self::of(seed), Random::of(seed ^ STATES));
        for _ in 0..=random.below(8) {
            let at = usize::from(random.below(255)) % history.events.len();
            let who = if random.one_in(2) { Who::Poller } else { Who::Controller };
            let state = [TargetState::Live, TargetState::Former, TargetState::Taken][usize::from(random.below(3))];
            history.events.insert(at, Event::State { who, target: usize::from(random.below(2)), state });
        }
        history
    }

    /// Plays the history. An error describes the violation.
    pub(crate) fn play(&self) -> Result<(), String> {
        catch_unwind(AssertUnwindSafe(|| self.play_through())).unwrap_or_else(|_| Err(PANICS.to_owned()))
    }

    fn play_through(&self) -> Result<(), String> {
        let mut world = World::default();
        for event in &self.events {
            apply(&mut world, event);
            if let Some(violation) = world.ledger.violation {
                return Err(violation);
            }
        }
        come_to_rest(&mut world, self.ending);
        world.ledger.violation.map_or(Ok(()), Err)
    }

    /// Returns the shortest failing history, by removing ever smaller parts.
    pub(crate) fn shortest(self) -> Self {
        let mut shortest = self;
        let mut part = shortest.events.len() / 2;
        while part > 0 {
            let mut start = 0;
            while start < shortest.events.len() {
                let mut shorter = shortest.clone();
                shorter.events.drain(start..(start + part).min(shortest.events.len()));
                if shorter.play().is_err() {
                    shortest = shorter;
                } else {
                    start += part;
                }
            }
            part = if part == 1 { 0 } else { part.div_ceil(2) };
        }
        shortest
    }
}

/// Requests polls at random times, in one history of four. The numbers are of their own, so that the other events stay.
fn request_polls(events: &mut Vec<Event>, mut random: Random) {
    if !random.one_in(4) {
        return;
    }
    for _ in 0..=random.below(5) {
        let at = usize::from(random.below(255)) % events.len();
        events.insert(at, Event::Ask { object: usize::from(random.below(2)), request: random.below(4) });
    }
}

/// Lets the texts of targets replace, in one history of three. The numbers are of their own, so that the other events
/// stay.
fn replace_some(events: &mut [Event], mut random: Random) {
    if !random.one_in(3) {
        return;
    }
    for event in events {
        if let Event::Target { text: Some(text), .. } = event {
            text.replaces = !random.one_in(4);
        }
    }
}

/// Lets targets and other writers work in both external systems, and moves a target between them, in one history of
/// four. The numbers are of their own, so that the other events stay.
fn move_some(events: &mut Vec<Event>, mut random: Random) {
    if !random.one_in(4) {
        return;
    }
    for event in &mut *events {
        match event {
            Event::Target { text: Some(text), .. } => text.elsewhere = random.one_in(3),
            Event::Remove { resource } | Event::Change { resource, .. } | Event::Make { resource, .. } => {
                *resource += if random.one_in(3) { RESOURCES.len() } else { 0 };
            }
            _ => {}
        }
    }
    for _ in 0..1 + random.below(3) {
        let at = usize::from(random.below(255)) % events.len();
        let texts = events[..at].iter().rev();
        let Some(Event::Target { target, text: Some(text) }) =
            texts.clone().find(|event| matches!(event, Event::Target { text: Some(_), .. })).cloned()
        else {
            continue;
        };
        let moved = Text { elsewhere: !text.elsewhere, ..text };
        let who = [[Who::Poller, Who::Controller], [Who::Controller, Who::Poller]][usize::from(random.below(2))];
        let [first, second] = who.map(Event::Configure);
        let made = Event::Make { resource: usize::from(random.below(2)) + RESOURCES.len(), value: random.below(3) };
        let changed = [made, Event::Target { target, text: Some(moved) }, first, second];
        events.splice(at..at, changed);
    }
}

/// Lets the texts of targets have approvals, windows, items, published fields and collections, in one history of three.
/// The numbers are of their own, so that the other events stay.
fn vary_some(events: &mut Vec<Event>, ending: Ending, mut random: Random) {
    if !random.one_in(3) {
        return;
    }
    for event in &mut *events {
        if let Event::Target { text: Some(text), .. } = event {
            // Without a status, nobody can approve.
            text.approves = random.one_in(3) && ending == Ending::Free;
            text.has_windows = random.one_in(3);
            text.for_each = random.one_in(3);
            text.publishes = random.one_in(2);
            text.lists = random.one_in(2);
            text.reports = random.one_in(3);
        }
    }
    for _ in 0..random.below(8) {
        let at = usize::from(random.below(255)) % events.len();
        let who = if random.one_in(2) { Who::Poller } else { Who::Controller };
        let object = usize::from(random.below(2));
        let spoiled = Event::SpoilReport { object, how: random.below(4) };
        let event = if random.one_in(2) { spoiled } else { Event::DeliverReports(who, 1 + random.below(4)) };
        events.insert(at, event);
    }
    for _ in 0..random.below(8) {
        let at = usize::from(random.below(255)) % events.len();
        events.insert(at, Event::Approve { object: usize::from(random.below(2)) });
    }
}

/// Returns the setup: targets and two objects.
fn beginning(random: &mut Random) -> Vec<Event> {
    let mut events = Vec::new();
    for target in 0..NAMES.len() {
        if !random.one_in(8) {
            events.push(Event::Target { target, text: Some(text(random)) });
        }
    }
    events.extend([Event::Configure(Who::Poller), Event::Configure(Who::Controller)]);
    let (a, b) = (random.below(4), random.below(4));
    let resources = (usize::from(random.below(2)), usize::from(random.below(2)));
    events.push(Event::Create { object: 0, resource: resources.0, value: 1, labels: a });
    events.push(Event::Create { object: 1, resource: resources.1, value: 2, labels: b });
    events
}

/// An object that owns a resource becomes unselected (its label or its target is removed), and the other object adopts
/// the resource.
fn handed_over(random: &mut Random) -> Vec<Event> {
    let text = Text { correct: true, adopt: true, suspended: false, ..text(random) };
    let configured = [Event::Configure(Who::Poller), Event::Configure(Who::Controller)];
    let mut events: Vec<Event> = (0..NAMES.len()).map(|target| Event::Target { target, text: Some(text) }).collect();
    events.extend(configured.clone());
    // The older or the newer object leaves.
    let first = usize::from(random.one_in(2));
    let create = |object, labels| Event::Create { object, resource: 0, value: 1 + labels, labels };
    events.extend([create(first, 1), Event::Rest, Event::Pass(20), Event::Rest, create(1 - first, 2), Event::Rest]);
    match random.one_in(2) {
        true => events.push(Event::Relabel { object: first, labels: 0 }),
        false => events.extend([Event::Target { target: 0, text: None }].into_iter().chain(configured)),
    }
    events.extend([Event::Rest, Event::Pass(20), Event::Rest]);
    events
}

/// Returns an event that brings back an object, or that may hide one of them from a restarted program.
fn back(random: &mut Random) -> Event {
    let who = if random.one_in(2) { Who::Poller } else { Who::Controller };
    let which = usize::from(random.below(2));
    match random.below(12) {
        0..2 => Event::Relabel { object: which, labels: 1 + random.below(2) },
        2 => Event::Target { target: 0, text: Some(text(random)) },
        3..5 => Event::Crash(who),
        5 => Event::Configure(who),
        6..8 => Event::Bar { who, target: which, rejected: random.one_in(2) },
        8 => Event::RefuseStatus(random.one_in(2)),
        9 => Event::Change { resource: 0, value: random.below(4) },
        10 => Event::Pass(5 + u16::from(random.below(90))),
        _ => Event::Rest,
    }
}

/// Returns a history in which an object repeatedly drifts, its correction starts, and an event interrupts it.
fn stepwise(random: &mut Random) -> Vec<Event> {
    let text = Text { correct: true, suspended: false, ..text(random) };
    let mut events = vec![Event::Target { target: 0, text: Some(text) }];
    events.extend([Event::Configure(Who::Poller), Event::Configure(Who::Controller)]);
    events.push(Event::Create { object: 0, resource: 0, value: 1, labels: 1 });
    if random.one_in(2) {
        events.push(Event::Create { object: 1, resource: usize::from(random.below(2)), value: 1, labels: 1 });
    }
    if !random.one_in(3) {
        events.push(Event::Rest);
    }
    for _ in 0..1 + random.below(4) {
        events.extend(drifts(random));
        // Drift is confirmed by the second poll and then written.
        for seconds in [3, 3, 0] {
            events.extend([Event::Deliver(Who::Poller, 9), Event::Attend(Who::Poller)]);
            if random.one_in(8) {
                events.push(Event::Edit { object: 0, resource: 0, value: random.below(2) });
            }
            events.extend([Event::Advance(Who::Poller, 4), Event::Pass(seconds)]);
        }
        events.extend([Event::Attend(Who::Poller), Event::Advance(Who::Poller, 4), Event::Renew]);
        for disturbed in [true, false] {
            events.extend([Event::Deliver(Who::Controller, 9), Event::Attend(Who::Controller)]);
            let steps = if random.one_in(4) { 0 } else { random.below(12) };
            events.push(Event::Advance(Who::Controller, steps));
            events.extend(disturbed.then(|| disturbance(text, random)).into_iter().flatten());
        }
    }
    events
}

/// Returns events after which the first object needs a correction.
fn drifts(random: &mut Random) -> Vec<Event> {
    let value = random.below(2);
    match random.below(4) {
        0 => vec![Event::Change { resource: 0, value: 2 }, Event::Pass(60), Event::Attend(Who::Poller)],
        1 => vec![Event::Remove { resource: 0 }, Event::Pass(60), Event::Attend(Who::Poller)],
        _ => vec![Event::Edit { object: 0, resource: 0, value }, Event::Pass(2)],
    }
}

/// Returns events that disturb the first object, its target or the controller.
fn disturbance(text: Text, random: &mut Random) -> Vec<Event> {
    let object = 0;
    let suspended = || Event::Target { target: 0, text: Some(Text { suspended: true, ..text }) };
    match random.below(16) {
        0..4 => vec![Event::Edit { object, resource: usize::from(random.below(2)), value: random.below(2) }],
        4 => vec![Event::Pause { object, paused: random.one_in(2) }],
        5 => vec![Event::Forbid { object, forbidden: random.one_in(2) }],
        6 => vec![Event::Orphan { object, orphan: true }, Event::Delete { object }],
        7 => vec![Event::Forbid { object, forbidden: true }, Event::Delete { object }],
        8 => vec![suspended(), Event::Configure(Who::Controller), Event::Delete { object }],
        9 => {
            let poll = [Event::Attend(Who::Poller), Event::Advance(Who::Poller, 4), Event::Pass(3)];
            [Event::Strip { object, observed: random.one_in(2) }].into_iter().chain(poll.clone()).chain(poll).collect()
        }
        13..15 => {
            let fault = FAULTS[usize::from(random.below(12))];
            vec![Event::Step(Who::Controller, 0, fault), Event::Make { resource: 0, value: 2 }]
        }
        10 => vec![Event::Relabel { object, labels: random.below(4) }],
        11 => vec![Event::EndTerm(random.below(6))],
        12 => vec![Event::Crash(Who::Controller)],
        _ => vec![object_event(random)],
    }
}

/// Returns a history in which two objects of two targets name one resource, and the programs restart without the
/// objects of one target.
fn hidden(random: &mut Random) -> Vec<Event> {
    let text = Text { correct: true, deletes: true, suspended: false, ..text(random) };
    let mut events: Vec<Event> = (0..NAMES.len()).map(|target| Event::Target { target, text: Some(text) }).collect();
    events.extend([Event::Configure(Who::Poller), Event::Configure(Who::Controller)]);
    let create = |object, labels| Event::Create { object, resource: 0, value: 1 + labels, labels };
    events.extend([create(0, 1), Event::Rest, Event::Pass(20), Event::Rest, create(1, 2), Event::Rest]);
    let target = usize::from(random.below(2));
    for who in [Who::Poller, Who::Controller] {
        if !random.one_in(4) {
            events.push(Event::Bar { who, target, rejected: true });
        }
        events.extend([Event::Crash(who), Event::List(who)]);
    }
    events
}

/// Returns an event that makes a program act for one of these objects, or shows it the other one.
fn hiding(random: &mut Random) -> Event {
    let who = if random.one_in(2) { Who::Poller } else { Who::Controller };
    let which = usize::from(random.below(2));
    match random.below(9) {
        0 => Event::Remove { resource: 0 },
        1 => Event::Change { resource: 0, value: random.below(4) },
        2 => Event::Delete { object: which },
        3 => Event::Edit { object: which, resource: 0, value: random.below(4) },
        4 => Event::Bar { who, target: which, rejected: !random.one_in(3) },
        5 => Event::Pass(1 + u16::from(random.below(60))),
        _ => Event::Rest,
    }
}

/// Moves an event to the first target, because two objects of one target conflict more often.
const fn work_for_one_target(event: &mut Event) {
    if let Event::Target { target, .. } | Event::Absence { target, .. } = event {
        *target = 0;
    }
}
