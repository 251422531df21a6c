//! A random history: from a seed, played, and cut down to the shortest that fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::events::{Event, apply, event, text};
use crate::quiet::{Ending, WARS, come_to_rest};
use crate::random::Random;
use crate::targets::{NAMES, Text};
use crate::world::{Who, World};

/// Events of a random history at most.
const MOST_EVENTS: u8 = 90;

/// One of so many histories begins with a resource that has changed hands. By chance alone hardly any of ten thousand comes to two
/// claims at a start.
const HAND_OVER_ONE_IN: u8 = 4;

/// What happens, and what stays barred to the end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct History {
    pub(crate) events: Vec<Event>,
    pub(crate) ending: Ending,
}

impl History {
    /// The history of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::of(seed);
        let ending = match random.below(40) {
            0..5 => Ending::StatusRefused,
            5 => Ending::War(WARS[usize::from(random.below(6))]),
            _ => Ending::Free,
        };
        let hands_over = random.one_in(HAND_OVER_ONE_IN);
        let mut events = if hands_over { handed_over(&mut random) } else { beginning(&mut random) };
        let length = 10 + random.below(MOST_EVENTS - 10);
        events.extend((0..length).map(|_| match hands_over && random.one_in(4) {
            true => back(&mut random),
            false => event(&mut random),
        }));
        if hands_over {
            return Self { events, ending };
        }
        if random.one_in(3) {
            events.iter_mut().for_each(work_for_one_target);
        }
        Self { events, ending }
    }

    /// Plays it; the error says what was violated.
    pub(crate) fn play(&self) -> Result<(), String> {
        catch_unwind(AssertUnwindSafe(|| self.play_through())).unwrap_or_else(|_| Err("it panics".to_owned()))
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

    /// The shortest history that fails, by leaving out ever smaller parts.
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

/// Targets, and two objects.
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

/// An object that owns a resource is selected no more, as its label or its target is gone, and the other one adopts what it had.
fn handed_over(random: &mut Random) -> Vec<Event> {
    let text = Text { correct: true, adopt: true, suspended: false, ..text(random) };
    let configured = [Event::Configure(Who::Poller), Event::Configure(Who::Controller)];
    let mut events: Vec<Event> = (0..NAMES.len()).map(|target| Event::Target { target, text: Some(text) }).collect();
    events.extend(configured.clone());
    // The one that leaves is the older one, or the other way round.
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

/// What brings back an object that left, and what may hide it or the other one from who begins anew.
fn back(random: &mut Random) -> Event {
    let who = if random.one_in(2) { Who::Poller } else { Who::Controller };
    let which = usize::from(random.below(2));
    match random.below(12) {
        0..2 => Event::Relabel { object: which, labels: 1 + random.below(2) },
        2 => Event::Target { target: 0, text: Some(text(random)) },
        3..5 => Event::Crash(who),
        5 => Event::Configure(who),
        6..8 => Event::Bar { who, target: which, barred: random.one_in(2) },
        8 => Event::RefuseStatus(random.one_in(2)),
        9 => Event::Change { resource: 0, value: random.below(4) },
        10 => Event::Pass(5 + u16::from(random.below(90))),
        _ => Event::Rest,
    }
}

/// Two objects of one target meet more often.
const fn work_for_one_target(event: &mut Event) {
    if let Event::Target { target, .. } | Event::Absence { target, .. } = event {
        *target = 0;
    }
}
