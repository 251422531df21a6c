//! Random histories: the core against a model of the world, with crashes, lost answers and other people at work.
//!
//! The model knows one object, one external resource, a poller that follows the rules of the conditions, and an API
//! that keeps what is written. Each request to the external system is checked the moment it is sent.

use std::time::Duration;

use drift_shared::condition::{CorrectedReason, ObservedReason, Standing, Tag, Verdict, Wish};
use drift_shared::moment::Moment;
use drift_shared::object::LeanObject;
use drift_shared::target::Existing;
use proptest::prelude::*;
use serde_json::json;

use super::claim::Action;
use super::decide::{Correction, Decision, Situation, Surroundings, decide};
use super::facts::{ObjectFacts, TargetFacts};
use super::fixtures::{at, bare_object, facts, set_corrected, set_observed, target};
use super::limits::Room;
use super::memory::ObjectMemory;
use super::note::{NoteChange, Noted};
use super::outcome::{Doubt, Outcome};

/// What the external system does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    AcceptedWithoutEffect,
    Refused,
    LostBefore,
    LostAfter,
}

/// What happens in the midst of a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    None,
    /// The process dies.
    DiesAfterClaim,
    DiesBeforeRecord,
    DiesAfterRecord,
    /// Another writer takes the note, the claim with it.
    NoteTakenBeforeRecord,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    PollBegins,
    PollEnds,
    Controller(Answer, Mishap),
    Passes(u64),
    Edited(u8),
    ChangedOutside(u8),
    RemovedOutside,
    MadeByOthers,
    Vouched(bool),
    NoteTaken,
    Restarted,
}

/// The resource outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resource {
    value: u8,
    /// It came into being by another hand while the object claimed nothing.
    foreign: bool,
}

struct World {
    object: LeanObject,
    spec: u8,
    outside: Option<Resource>,
    poll: Option<(Option<i64>, u64, Verdict)>,
    /// K that the object carried when the poll that stands began.
    verified: u64,
    memory: ObjectMemory,
    target: TargetFacts,
    vouched: bool,
    now: Moment,
    requests: Vec<(String, bool)>,
    writes: usize,
    crashed: bool,
    /// Another writer took the note and the process died before it could put it back: nobody knows of the claim.
    claim_lost: bool,
}

impl World {
    fn new(existing: Existing, outside: Option<u8>) -> Self {
        Self {
            object: bare_object(),
            spec: 1,
            outside: outside.map(|value| Resource { value, foreign: true }),
            poll: None,
            verified: 0,
            memory: ObjectMemory::new(at(0), None),
            target: TargetFacts { existing, ..target() },
            vouched: true,
            now: at(0),
            requests: Vec::new(),
            writes: 0,
            crashed: false,
            claim_lost: false,
        }
    }

    fn wish(&self) -> Wish {
        Wish::of(&json!(self.spec))
    }

    fn facts(&self) -> ObjectFacts {
        ObjectFacts { wish: Some(self.wish()), ..facts() }
    }

    fn noted(&self) -> Noted {
        Noted::read(&self.object, self.memory.noted.as_ref())
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::PollBegins => self.begin_poll(),
            Event::PollEnds => self.end_poll(),
            Event::Controller(answer, mishap) => self.control(answer, mishap),
            Event::Passes(seconds) => self.now += Duration::from_secs(seconds),
            Event::Edited(value) => {
                if value != self.spec {
                    self.spec = value;
                    self.object.generation = self.object.generation.map(|generation| generation + 1);
                }
            }
            Event::ChangedOutside(value) => {
                if let Some(resource) = &mut self.outside {
                    resource.value = value;
                }
            }
            Event::RemovedOutside => self.outside = None,
            Event::MadeByOthers => {
                let foreign = self.noted().owns.is_none();
                self.outside.get_or_insert(Resource { value: 200, foreign });
            }
            Event::Vouched(vouched) => self.vouched = vouched,
            Event::NoteTaken => {
                self.claim_lost |= self.memory.noted.is_none() && self.object.conditions.corrected.is_some();
                self.object.conditions.corrected = None;
            }
            Event::Restarted => self.restart(),
        }
    }

    fn restart(&mut self) {
        self.claim_lost |= self.noted().lost;
        self.memory = ObjectMemory::new(self.now, None);
        self.crashed = true;
    }

    /// The verdict by the rules of `driftObserved`, of the state in which the poll begins.
    fn begin_poll(&mut self) {
        let correction = self.object.conditions.correction();
        let standing = self.object.conditions.observed().and_then(Standing::read);
        let of_this = standing.as_ref().filter(|standing| standing.is_of(self.object.generation, Some(self.wish())));
        let seen = of_this.is_some_and(Standing::proves_seen);
        let reason = match (self.outside, seen) {
            (Some(resource), _) if resource.value == self.spec => ObservedReason::InSync,
            (Some(_), true) => ObservedReason::FieldsDiffer,
            (Some(_), false) => ObservedReason::NotUpdated,
            (None, true) => ObservedReason::ExternalMissing,
            (None, false) => ObservedReason::NotCreated,
        };
        let unhealed = match of_this {
            Some(standing) if reason != ObservedReason::InSync => {
                standing.tag.unhealed + u32::from(correction > standing.tag.correction)
            }
            _ => 0,
        };
        let tag = Tag { wish: Some(self.wish()), seen: false, correction, unhealed };
        let verdict = Verdict { reason, text: "text".to_owned(), tag, generation: self.object.generation };
        self.poll = Some((self.object.generation, correction, verdict));
    }

    /// A result is written only onto the state its poll began from.
    fn end_poll(&mut self) {
        let Some((generation, correction, verdict)) = self.poll.take() else { return };
        if generation == self.object.generation && correction == self.object.conditions.correction() {
            self.verified = correction;
            set_observed(&mut self.object.conditions, &verdict);
        }
    }

    fn control(&mut self, answer: Answer, mishap: Mishap) {
        self.memory.observe(&self.object, self.target.limits.attempts);
        let surroundings = Surroundings {
            listed: true,
            claimed_twice: false,
            has_identity: true,
            identity_shared: false,
            vouched: self.vouched,
            breaker_holds: false,
            room: Room::Free,
        };
        let situation = Situation {
            object: &self.object,
            facts: &self.facts(),
            target: &self.target,
            memory: &self.memory,
            surroundings,
            now: self.now,
        };
        match decide(&situation) {
            Decision::Nothing(_) | Decision::Wait { .. } => {}
            Decision::Correct(correction) => self.correct(&correction, answer, mishap),
            Decision::Note(change) => {
                if self.noted().lost {
                    self.memory.restore(self.now);
                }
                self.write(change);
            }
            Decision::RemoveNote => {
                self.writes += 1;
                self.memory.noted = None;
                self.object.conditions.corrected = None;
            }
            other => unreachable!("{other:?}"),
        }
    }

    fn write(&mut self, change: NoteChange) {
        assert!(!change.stands(self.object.conditions.corrected()), "a write that changes nothing: {change:?}");
        self.writes += 1;
        set_corrected(&mut self.object.conditions, &change);
        self.memory.noted = Some(change);
    }

    fn correct(&mut self, correction: &Correction, answer: Answer, mishap: Mishap) {
        let noted = self.noted();
        let was_in_doubt = self.memory.is_in_doubt();
        self.memory.begin(self.now, None);
        if correction.claim_first {
            self.write(NoteChange::claim(&noted, correction));
            if mishap == Mishap::DiesAfterClaim {
                self.cannot_tell_whose();
                return self.restart();
            }
        }
        self.check_request(correction);
        let outcome = self.ask(correction, answer);
        self.requests.push((correction.idempotency_key("u", 0), outcome.is_definite()));
        if !outcome.is_definite() || mishap == Mishap::DiesBeforeRecord {
            self.cannot_tell_whose();
        }
        match mishap {
            Mishap::DiesBeforeRecord => return self.restart(),
            Mishap::NoteTakenBeforeRecord => self.object.conditions.corrected = None,
            _ => {}
        }
        self.memory.finish(&outcome, self.now);
        // What stands on the object now; the claim is not yet part of what the process remembers.
        let standing = Noted::read(&self.object, None);
        let change = NoteChange::to_record(&noted, &standing, correction, &outcome, was_in_doubt);
        if let Some(change) = change.filter(|change| !change.stands(self.object.conditions.corrected())) {
            self.write(change);
        }
        if mishap == Mishap::DiesAfterRecord {
            self.restart();
        }
    }

    /// After a claim whose create may or may not have been done, nobody can tell whose the resource is: it is ours,
    /// or a crash between claim and note would lose what we made.
    fn cannot_tell_whose(&mut self) {
        if let Some(resource) = &mut self.outside {
            resource.foreign &= self.object.conditions.corrected().is_none();
        }
    }

    /// What must hold of each request the moment it is sent.
    fn check_request(&mut self, correction: &Correction) {
        let standing = self.object.conditions.observed().and_then(Standing::read);
        let Some(standing) = standing else { unreachable!("a correction without a verdict") };
        assert_eq!(standing.reason.status(), drift_shared::condition::ConditionStatus::True);
        assert_eq!(standing.generation, self.object.generation, "a verdict of another generation");
        assert_eq!(standing.tag.wish, Some(self.wish()), "a verdict of another wish");
        assert!(self.vouched, "nobody vouches");
        let is_started = self.noted().reason == Some(CorrectedReason::CorrectionStarted);
        assert!(!is_started || correction.claim_first, "a claim of an earlier process is acted on without a poll");
        assert_eq!(self.verified + 1, correction.number, "the correction before is not verified");
        let key = correction.idempotency_key("u", 0);
        let repeated = self.requests.iter().any(|(sent, definite)| *sent == key && *definite);
        assert!(!repeated || self.crashed, "a definite correction is sent again without a crash");
        if correction.action == Action::Update && self.target.existing == Existing::Refuse {
            assert!(!self.outside.is_some_and(|resource| resource.foreign), "what was there before is touched");
        }
    }

    /// The external system: it refuses to create what exists and to update what does not.
    fn ask(&mut self, correction: &Correction, answer: Answer) -> Outcome {
        let possible = (correction.action == Action::Create) == self.outside.is_none();
        let lost = Outcome::Doubtful { why: Doubt::NoAnswer, retry_after: None, step: 0 };
        let refused = Outcome::Refused { status: 409, step: 0 };
        let effective = matches!(answer, Answer::Done | Answer::LostAfter);
        if effective && possible {
            let foreign = self.outside.is_some_and(|resource| resource.foreign);
            self.outside = Some(Resource { value: self.spec, foreign });
        }
        match answer {
            Answer::LostBefore | Answer::LostAfter => lost,
            Answer::Refused => refused,
            _ if !possible => refused,
            Answer::Done | Answer::AcceptedWithoutEffect => Outcome::Applied,
        }
    }

    /// One quiet round: everything works, a poll follows, time passes.
    fn quiet_round(&mut self, seconds: u64) {
        self.apply(Event::Controller(Answer::Done, Mishap::None));
        self.begin_poll();
        self.end_poll();
        self.now += Duration::from_secs(seconds);
    }
}

fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => Just(Answer::Done),
        1 => Just(Answer::AcceptedWithoutEffect),
        1 => Just(Answer::Refused),
        1 => Just(Answer::LostBefore),
        1 => Just(Answer::LostAfter),
    ]
}

fn mishaps() -> impl Strategy<Value = Mishap> {
    prop_oneof![
        8 => Just(Mishap::None),
        1 => Just(Mishap::DiesAfterClaim),
        1 => Just(Mishap::DiesBeforeRecord),
        1 => Just(Mishap::DiesAfterRecord),
        1 => Just(Mishap::NoteTakenBeforeRecord),
    ]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => Just(Event::PollBegins),
        4 => Just(Event::PollEnds),
        6 => (answers(), mishaps()).prop_map(|(answer, mishap)| Event::Controller(answer, mishap)),
        4 => (0_u64..400).prop_map(Event::Passes),
        1 => (1_u8..4).prop_map(Event::Edited),
        1 => (1_u8..4).prop_map(Event::ChangedOutside),
        1 => Just(Event::RemovedOutside),
        1 => Just(Event::MadeByOthers),
        1 => any::<bool>().prop_map(Event::Vouched),
        1 => Just(Event::NoteTaken),
        1 => Just(Event::Restarted),
    ];
    proptest::collection::vec(event, 1..120)
}

fn existing() -> impl Strategy<Value = Existing> {
    prop_oneof![Just(Existing::Refuse), Just(Existing::Adopt)]
}

/// The longest the controller ever waits by itself: the hour between two tries of exhausted attempts.
const LONGEST_WAIT: u64 = 3600;
/// Rounds in which everything must come to rest: a claim interrupted, a refusal, a correction, and each verified.
const ROUNDS: usize = 12;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_history_is_safe_and_comes_to_rest(
        existing in existing(), outside in proptest::option::of(1_u8..4), has_generation: bool, events in events()
    ) {
        let mut world = World::new(existing, outside);
        if !has_generation {
            world.object.generation = None;
        }
        for event in events {
            world.apply(event);
        }
        world.vouched = true;
        world.poll = None;
        for _ in 0..ROUNDS {
            world.quiet_round(LONGEST_WAIT);
        }
        let foreign = world.outside.is_some_and(|resource| resource.foreign) || world.claim_lost;
        if !(foreign && existing == Existing::Refuse) {
            prop_assert_eq!(world.outside.map(|resource| resource.value), Some(world.spec));
        }
        let (writes, requests) = (world.writes, world.requests.len());
        for _ in 0..ROUNDS {
            world.quiet_round(LONGEST_WAIT);
        }
        prop_assert_eq!((world.writes, world.requests.len()), (writes, requests), "it is not quiet");
    }
}

/// Seconds between two rounds of the long histories: below the longest delays, so that they are what bounds them.
const STEP: u64 = 10;

/// Lets the controller and the poller take turns for so many hours; `between` is what happens between two rounds.
fn run_for(world: &mut World, hours: usize, answer: Answer, between: impl Fn(&mut World)) {
    for _ in 0..hours * 3600 / STEP as usize {
        world.apply(Event::Controller(answer, Mishap::None));
        world.begin_poll();
        world.end_poll();
        between(world);
        world.now += Duration::from_secs(STEP);
    }
}

#[test]
fn an_external_system_that_never_changes_is_asked_a_bounded_number_of_times() {
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
        let keys: std::collections::BTreeSet<_> = world.requests.iter().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), asked, "a definite outcome did not spend its number");
    }
}

#[test]
fn answers_that_never_come_spend_no_number_and_are_noted_once() {
    let hours = 24;
    let mut world = World::new(Existing::Adopt, Some(9));
    run_for(&mut world, hours, Answer::LostBefore, |_| {});
    let (asked, slowest) = (world.requests.len(), hours * 3600 / 300);
    assert!(world.requests.iter().all(|(key, _)| key == "u-1"));
    assert!((slowest..=slowest + 8).contains(&asked), "{asked}");
    assert_eq!(world.writes, 2, "the claim and one failure");
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
    // At most eight corrections in any ten minutes, since the pauses before the ninth add up to more.
    let asked = world.requests.len();
    assert!((hours * 6..=hours * 6 * 8).contains(&asked), "{asked}");
}
