//! A random history: from a seed, played, and cut down to the shortest that fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::events::{Event, apply, event, text};
use crate::quiet::{Ending, WARS, come_to_rest};
use crate::random::Random;
use crate::targets::NAMES;
use crate::world::{Who, World};

/// Events of a random history at most.
const MOST_EVENTS: u8 = 90;

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
        let mut events = Vec::new();
        for target in 0..NAMES.len() {
            if !random.one_in(8) {
                events.push(Event::Target { target, text: Some(text(&mut random)) });
            }
        }
        events.extend([Event::Configure(Who::Poller), Event::Configure(Who::Controller)]);
        let (a, b) = (random.below(4), random.below(4));
        let resources = (usize::from(random.below(2)), usize::from(random.below(2)));
        events.push(Event::Create { object: 0, resource: resources.0, value: 1, labels: a });
        events.push(Event::Create { object: 1, resource: resources.1, value: 2, labels: b });
        let length = 10 + random.below(MOST_EVENTS - 10);
        events.extend((0..length).map(|_| event(&mut random)));
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

/// Two objects of one target meet more often.
const fn work_for_one_target(event: &mut Event) {
    if let Event::Target { target, .. } | Event::Absence { target, .. } = event {
        *target = 0;
    }
}
