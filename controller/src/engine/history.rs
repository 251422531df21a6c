//! Random histories: the engine against a model of the world, with crashes, lost responses and interfering writers.
//!
//! The model has one object, one external resource in each of two scopes, a poller that follows the rules of the
//! conditions, and an API that stores writes unless another writer is faster. Each request to the external system is
//! checked when it is sent.

mod checks;
mod controller;
mod endurance;
mod event;
mod outside;
mod poller;
mod replacement;
mod strategies;
mod world;

use std::time::Duration;

use drift_api::condition::CorrectedReason;
use drift_language::{Existing, Mode};
use proptest::prelude::*;

use event::{Answer, Event, Meanwhile, Mishap};
use strategies::{events, existing, modes, scopes};
use world::World;

impl World {
    fn apply(&mut self, event: Event) {
        if self.gone {
            return;
        }
        match event {
            Event::PollBegins => self.begin_poll(),
            Event::PollEnds => self.end_poll(),
            Event::Controller(answer, mishap, meanwhile) => self.control(answer, mishap, meanwhile),
            Event::Passes(seconds) => self.now += Duration::from_secs(seconds),
            Event::Edited(value) => self.edit(value),
            Event::ChangedOutside(value) => {
                if let Some(resource) = self.outside_mut() {
                    resource.value = value;
                }
            }
            Event::RemovedOutside => *self.outside_mut() = None,
            Event::MadeByOthers => self.make_by_others(),
            Event::Attested(attested) => self.attested = attested,
            Event::NoteTaken => self.take_note(),
            Event::StatusAltered => {
                let corrected = self.object.conditions.corrected.as_mut();
                corrected.into_iter().for_each(|placed| {
                    placed.condition.reason = CorrectedReason::CorrectionStarted.as_str().into();
                });
            }
            Event::FinalizerStripped => {
                self.object.finalizers = Box::default();
                self.gone = self.object.deleting;
            }
            Event::StatusRefused(refused) => self.status_refused = refused,
            Event::Replayed => self.replay(),
            Event::DeletionAnswered(answer) => self.deletion = answer,
            Event::StepsEdited(steps) => self.target.correct_hash = u64::from(steps),
            Event::TargetReadded { cleaned } => self.readd_target(cleaned),
            Event::ScopeSet(scope) => self.set_scope(scope),
            Event::Orphaned => self.object.orphan = true,
            Event::Restarted => self.restart(),
            Event::Overtaken(times) => self.overtaken = times,
            Event::RetryRequested(value) => {
                self.object.asked.get_or_insert_default().retry = Some(value.to_string().into())
            }
            Event::ModeSet(mode) => self.target.mode = mode,
            Event::Deleted => self.delete(),
        }
    }

    /// One quiet round: everything works, a poll follows, time passes.
    fn quiet_round(&mut self, seconds: u64) {
        self.apply(Event::Controller(Answer::Done, Mishap::None, Meanwhile::Nothing));
        self.apply(Event::PollBegins);
        self.apply(Event::PollEnds);
        self.now += Duration::from_secs(seconds);
    }
}

/// Longest delay of the controller: the hour between two tries of exhausted attempts.
const LONGEST_WAIT: u64 = 3600;
/// Rounds in which everything must settle: an interrupted claim, a refusal, a correction, and the verification of each.
const ROUNDS: usize = 12;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_history_is_safe_and_comes_to_rest(
        existing in existing(), outside in any::<[Option<u8>; 2]>(), has_generation: bool, (deletes, replaces) in any::<(bool, bool)>(),
        (mode, scope) in (modes(), scopes()), events in events(), (deleted, orphaned, refused) in any::<(bool, bool, bool)>()
    ) {
        let mut world = World::with_two(existing, outside.map(|value| value.map(|value| value % 3 + 1)));
        world.target.actions.delete = deletes;
        world.target.actions.replace = replaces;
        if !has_generation {
            world.object.generation = None;
        }
        for event in events {
            world.apply(event);
        }
        world.attested = true;
        world.poll = None;
        world.overtaken = 0;
        world.deletion = Answer::Done;
        world.target.mode = mode;
        world.set_scope(scope);
        // A refused status must not block a deletion.
        world.status_refused = deleted && refused;
        if orphaned {
            world.apply(Event::Orphaned);
        }
        if deleted {
            world.apply(Event::Deleted);
        }
        let was_gone = world.gone;
        for _ in 0..ROUNDS {
            world.quiet_round(LONGEST_WAIT);
        }
        let foreign = world.outside().is_some_and(|resource| resource.foreign) || world.claim_lost;
        let claims = world.owns_in(scope);
        // A claim in the other scope stays unchanged, and nothing happens in this scope.
        let moved = world.status().owned().is_some() && !claims;
        if world.object.deleting {
            prop_assert!(world.gone, "a finalizer holds the object for ever");
            let takes_along = world.target.deletes() && claims && !was_gone && !orphaned;
            let is_left = world.outside().is_some() && !world.deleted_outside;
            prop_assert!(!takes_along || !is_left, "what was ours is left behind");
        } else if mode == Mode::Observe {
            prop_assert!(!world.object.has_finalizer(), "an observed object is held");
        } else if !(moved || foreign && existing == Existing::Refuse) {
            prop_assert!(!claims || world.object.has_finalizer() == deletes, "the finalizer is not where it belongs");
            prop_assert_eq!(world.outside().map(|resource| resource.value), Some(world.spec));
        }
        let (writes, requests) = (world.writes, world.requests.len());
        for _ in 0..ROUNDS {
            world.quiet_round(LONGEST_WAIT);
        }
        prop_assert_eq!((world.writes, world.requests.len()), (writes, requests), "it is not quiet");
    }
}
