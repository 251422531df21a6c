//! Random histories: the core against a model of the world, with crashes, lost answers and other people at work.
//!
//! The model knows one object, one external resource in each of two scopes, a poller that follows the rules of the conditions, and an API
//! that keeps what is written, unless another writer is faster. Each request to the external system is checked the moment it is sent.

use std::time::Duration;

use drift_model::condition::{
    ConditionStatus, CorrectedReason, CorrectionStatus, ObservedReason, Placed, Standing, Tag, Verdict, Wish, is_later,
};
use drift_model::identity::ScopeId;
use drift_model::moment::Moment;
use drift_model::names::FINALIZER;
use drift_model::object::LeanObject;
use drift_target::{Existing, Mode};
use proptest::prelude::*;
use serde_json::json;

use super::claim::Action;
use super::correction::Correction;
use super::decide::decide;
use super::decision::Decision;
use super::facts::{ObjectFacts, TargetFacts};
use super::fixtures::{at, bare_object, doubtful, elsewhere, facts, owns, refused, set_corrected, target};
use super::limits::Room;
use super::memory::{ObjectMemory, VERDICT_HELD_FOR};
use super::outcome::{Doubt, Outcome};
use super::situation::{Situation, Surroundings};

/// What the external system does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    AcceptedWithoutEffect,
    Refused,
    LostBefore,
    LostAfter,
    /// 401, 403 or 429.
    TurnedAway,
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

/// What happens to the object while a request is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    Edited(u8),
    Deleted,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    PollBegins,
    PollEnds,
    Controller(Answer, Mishap, Meanwhile),
    Passes(u64),
    Edited(u8),
    ChangedOutside(u8),
    RemovedOutside,
    MadeByOthers,
    Vouched(bool),
    NoteTaken,
    /// Another writer makes our status say that a correction has begun, or takes our finalizer off.
    StatusAltered,
    FinalizerStripped,
    /// The API server refuses every status from now on, or does not any more.
    StatusRefused(bool),
    /// Another writer puts back a verdict that it has read before.
    Replayed,
    /// The target's steps are edited.
    StepsEdited(u8),
    /// The target is removed and added again, in time or after its traces were cleaned up.
    TargetReadded {
        cleaned: bool,
    },
    /// The target's scope is edited.
    ScopeSet(Scope),
    Orphaned,
    Restarted,
    /// Another writer is faster than our next so many writes.
    Overtaken(u8),
    RetryRequested(u8),
    ModeSet(Mode),
    Deleted,
}

/// Where the target's identities hold: each scope has its own resource of the one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Here,
    Elsewhere,
}

impl Scope {
    const ALL: [Self; 2] = [Self::Here, Self::Elsewhere];

    fn id(self) -> ScopeId {
        match self {
            Self::Here => target().scope,
            Self::Elsewhere => elsewhere("db").scope,
        }
    }
}

/// The resource outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resource {
    value: u8,
    /// It came into being by another hand while the object claimed nothing.
    foreign: bool,
}

/// A request that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    key: String,
    /// What it asks for: the number of the correction, the value and the target's steps.
    body: (u64, u8, u64),
    definite: bool,
}

struct World {
    object: LeanObject,
    spec: u8,
    outside: [Option<Resource>; 2],
    scope: Scope,
    /// The poller has written no verdict since the scope was edited, so it vouches for nothing.
    moved: bool,
    poll: Option<(Option<i64>, u64, Verdict)>,
    /// K that the object carried when the poll that stands began.
    verified: u64,
    memory: ObjectMemory,
    target: TargetFacts,
    vouched: bool,
    now: Moment,
    requests: Vec<Request>,
    writes: usize,
    overtaken: u8,
    lost_races: usize,
    crashed: bool,
    /// The object is no more.
    gone: bool,
    /// Another writer took the note and the process died before it could put it back: nobody knows of the claim.
    claim_lost: bool,
    status_refused: bool,
    /// An outcome that the API server refuses to take, so that nothing else is begun.
    unrecorded: Option<(Correction, Outcome)>,
    /// The last drift that was read by somebody else.
    old_verdict: Option<Placed>,
    /// The newest transition time that this process saw, and since when an older one stands.
    newest_seen: String,
    replayed_at: Option<Moment>,
    /// A poll was written since the last request.
    polled: bool,
    /// What was ours was deleted before the object was let go; what others make in between is theirs.
    deleted_outside: bool,
}

impl World {
    fn new(existing: Existing, outside: Option<u8>) -> Self {
        Self::with_two(existing, [outside, None])
    }

    fn with_two(existing: Existing, outside: [Option<u8>; 2]) -> Self {
        Self {
            object: bare_object(),
            spec: 1,
            outside: outside.map(|value| value.map(|value| Resource { value, foreign: true })),
            scope: Scope::Here,
            moved: false,
            poll: None,
            verified: 0,
            memory: ObjectMemory::of(&bare_object(), at(0)),
            target: TargetFacts { existing, ..target() },
            vouched: true,
            now: at(0),
            requests: Vec::new(),
            writes: 0,
            overtaken: 0,
            lost_races: 0,
            crashed: false,
            gone: false,
            claim_lost: false,
            status_refused: false,
            unrecorded: None,
            old_verdict: None,
            newest_seen: String::new(),
            replayed_at: None,
            polled: false,
            deleted_outside: false,
        }
    }

    /// The time of day, as conditions tell it.
    fn time(&self) -> String {
        let seconds = self.now.since_start().as_secs();
        let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
        format!("2026-01-{:02}T{hours:02}:{:02}:{:02}Z", days + 1, seconds / 60 % 60, seconds % 60)
    }

    fn wish(&self) -> Wish {
        Wish::of(&json!(self.spec))
    }

    fn facts(&self) -> ObjectFacts {
        ObjectFacts { wish: Some(self.wish()), ..facts() }
    }

    fn status(&self) -> CorrectionStatus {
        self.memory.status_of(&self.object)
    }

    /// The resource that the target means now.
    const fn outside(&self) -> Option<Resource> {
        self.outside[self.scope as usize]
    }

    const fn outside_mut(&mut self) -> &mut Option<Resource> {
        &mut self.outside[self.scope as usize]
    }

    fn owns_in(&self, scope: Scope) -> bool {
        self.status().owned().is_some_and(|owned| owned.scope == Some(scope.id()))
    }

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
            Event::Vouched(vouched) => self.vouched = vouched,
            Event::NoteTaken => self.take_note(),
            Event::StatusAltered => {
                let corrected = self.object.conditions.corrected.as_mut();
                corrected.into_iter().for_each(|placed| {
                    placed.condition.reason = CorrectedReason::CorrectionStarted.as_str().to_owned();
                });
            }
            Event::FinalizerStripped => {
                self.object.finalizers.clear();
                self.gone = self.object.deleting;
            }
            Event::StatusRefused(refused) => self.status_refused = refused,
            Event::Replayed => self.replay(),
            Event::StepsEdited(steps) => self.target.correct_hash = u64::from(steps),
            Event::TargetReadded { cleaned } => self.readd_target(cleaned),
            Event::ScopeSet(scope) => self.set_scope(scope),
            Event::Orphaned => self.object.orphan = true,
            Event::Restarted => self.restart(),
            Event::Overtaken(times) => self.overtaken = times,
            Event::RetryRequested(value) => self.object.retry_requested = Some(value.to_string()),
            Event::ModeSet(mode) => self.target.mode = mode,
            Event::Deleted => self.delete(),
        }
    }

    fn edit(&mut self, value: u8) {
        if value != self.spec {
            self.spec = value;
            self.object.generation = self.object.generation.map(|generation| generation + 1);
        }
    }

    /// In both scopes, whichever is meant now.
    fn make_by_others(&mut self) {
        for scope in Scope::ALL {
            let foreign = !self.owns_in(scope);
            self.outside[scope as usize].get_or_insert(Resource { value: 200, foreign });
        }
    }

    /// The poller begins anew, and vouches for what it has judged since.
    fn set_scope(&mut self, scope: Scope) {
        if self.scope != scope {
            self.scope = scope;
            self.target.scope = scope.id();
            self.moved = true;
            self.poll = None;
            self.old_verdict = None;
        }
    }

    /// Somebody deletes the object; a finalizer keeps it.
    fn delete(&mut self) {
        self.object.deleting = true;
        self.gone = !self.object.has_finalizer();
    }

    /// Whether another writer was faster than a write of ours that insists on the whole state.
    fn is_overtaken(&mut self) -> bool {
        let Some(left) = self.overtaken.checked_sub(1) else { return false };
        self.overtaken = left;
        self.lost_races += 1;
        self.memory.writes.lose_race(self.now);
        true
    }

    /// Another writer takes the note. One that says that a correction has begun is nobody's last word, so a process that
    /// finds it does not remember it: taken before it is interrupted, its claim and its K are lost.
    fn take_note(&mut self) {
        let before = self.status();
        self.object.conditions.corrected = None;
        if before.reason == Some(CorrectedReason::CorrectionStarted) {
            let after = self.status();
            self.claim_lost |= before.owned().is_some() && after.owned().is_none();
            self.verified = self.verified.min(after.correction);
        }
    }

    /// Where the note was taken and the process died, the verdict alone still told K: with an older one K is older too.
    fn replay(&mut self) {
        let Some(verdict) = self.old_verdict.clone() else { return };
        self.object.conditions.observed = Some(verdict);
        if self.crashed {
            self.verified = self.verified.min(self.status().correction);
        }
    }

    /// The poller and the process begin anew; what is cleaned up after the target is left to others.
    fn readd_target(&mut self, cleaned: bool) {
        self.poll = None;
        self.claim_lost |= self.memory.lost_status(&self.object).is_some();
        self.memory.forget_status();
        if cleaned {
            self.object.conditions.observed = None;
            self.object.conditions.corrected = None;
            self.object.finalizers.clear();
            self.gone = self.object.deleting;
            // Of what it did not write since the target came back the poller vouches for nothing.
            self.old_verdict = None;
            self.outside.iter_mut().flatten().for_each(|resource| resource.foreign = true);
        }
        // The new list shows the object, and with it the status that still stands.
        self.observe();
        self.forget();
    }

    fn restart(&mut self) {
        self.newest_seen.clear();
        self.replayed_at = None;
        self.claim_lost |= self.memory.lost_status(&self.object).is_some();
        self.memory = ObjectMemory::of(&self.object, self.now);
        self.forget();
    }

    /// What neither condition tells of K nobody knows any more.
    fn forget(&mut self) {
        self.unrecorded = None;
        self.crashed = true;
        self.verified = self.verified.min(self.object.conditions.correction());
    }

    /// The verdict by the rules of `driftObserved`, of the state in which the poll begins.
    fn begin_poll(&mut self) {
        if self.object.deleting {
            return;
        }
        let correction = self.object.conditions.correction();
        let standing = self.object.conditions.observed().and_then(Standing::read);
        let of_this = standing.as_ref().filter(|standing| standing.is_of(self.object.generation, Some(self.wish())));
        let seen = of_this.is_some_and(Standing::proves_seen);
        let reason = match (self.outside(), seen) {
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
        let tag = Tag { wish: Some(self.wish()), correction, unhealed, ..Tag::default() };
        let verdict = Verdict { reason, text: "text".to_owned(), tag, generation: self.object.generation };
        self.poll = Some((self.object.generation, correction, verdict));
    }

    /// A result is written only onto the state its poll began from.
    fn end_poll(&mut self) {
        let Some((generation, correction, verdict)) = self.poll.take() else { return };
        let same = generation == self.object.generation && correction == self.object.conditions.correction();
        if same && !self.object.deleting {
            self.verified = correction;
            self.polled = true;
            self.moved = false;
            let condition = verdict.to_condition(self.object.conditions.observed(), &self.time());
            if condition.status == ConditionStatus::True {
                self.old_verdict = Some(Placed { index: 0, condition: condition.clone() });
            }
            self.object.conditions.observed = Some(Placed { index: 0, condition });
        }
    }

    fn control(&mut self, answer: Answer, mishap: Mishap, meanwhile: Meanwhile) {
        self.observe();
        self.see_replay();
        if let Some((correction, outcome)) = self.unrecorded.take() {
            self.record(&correction, &outcome);
            if self.unrecorded.is_some() {
                return;
            }
        }
        let surroundings = Surroundings {
            listed: true,
            has_identity: true,
            identity_shared: false,
            scope_complete: true,
            vouched: self.vouched && !self.moved,
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
            Decision::Correct(correction) if correction.action == Action::Delete => {
                self.delete_outside(&correction, answer, mishap);
            }
            Decision::Correct(correction) => self.correct(&correction, answer, (mishap, meanwhile)),
            Decision::WriteStatus(_) | Decision::PutFinalizer if self.is_overtaken() => {}
            Decision::WriteStatus(_) if self.status_refused => _ = self.memory.writes.refuse_status(self.now),
            Decision::WriteStatus(status) => {
                self.write(&status);
                self.memory.land_status(status, self.now);
            }
            Decision::PutFinalizer => {
                self.put_finalizer();
                self.memory.writes.land_finalizer(self.now);
            }
            Decision::ReleaseFinalizer { left_behind } => {
                assert!(left_behind || self.memory.deleted_outside, "let go before it was done");
                self.writes += 1;
                self.memory.writes.land_finalizer(self.now);
                self.object.finalizers.clear();
                self.gone = self.object.deleting;
            }
        }
    }

    /// The process sees the object.
    fn observe(&mut self) {
        self.memory.observe(&self.object, Some(self.wish()), self.target.limits.attempts, self.now);
    }

    fn see_replay(&mut self) {
        let Some(observed) = self.object.conditions.observed() else { return };
        let time = observed.last_transition_time.clone();
        if is_later(&self.newest_seen, &time) {
            self.replayed_at.get_or_insert(self.now);
        } else {
            self.newest_seen = time;
            self.replayed_at = None;
        }
    }

    fn put_finalizer(&mut self) {
        assert!(!self.object.deleting && !self.object.has_finalizer(), "a finalizer that the API server refuses");
        self.writes += 1;
        self.object.finalizers = vec![FINALIZER.to_owned()];
    }

    fn write(&mut self, status: &CorrectionStatus) {
        assert!(!status.stands(self.object.conditions.corrected()), "a write that changes nothing: {status:?}");
        self.writes += 1;
        set_corrected(&mut self.object.conditions, status);
    }

    fn correct(&mut self, correction: &Correction, answer: Answer, (mishap, meanwhile): (Mishap, Meanwhile)) {
        self.memory.begin(self.now, self.object.retry_requested.as_deref());
        if (correction.put_finalizer || correction.claim_first) && self.is_overtaken() {
            return self.memory.call_off();
        }
        if correction.put_finalizer {
            self.put_finalizer();
        }
        if correction.claim_first && self.status_refused {
            self.memory.writes.refuse_status(self.now);
            return self.memory.call_off();
        }
        if correction.claim_first {
            self.write(&correction.claim());
            if mishap == Mishap::DiesAfterClaim {
                self.cannot_tell_whose();
                return self.restart();
            }
        }
        self.check_request(correction);
        let outcome = self.ask(correction, answer);
        self.send(correction, &outcome);
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Edited(value) => self.edit(value),
            Meanwhile::Deleted => self.delete(),
        }
        if self.gone {
            return;
        }
        let is_open = !outcome.is_definite() && !outcome.was_turned_away();
        if is_open || mishap == Mishap::DiesBeforeRecord {
            self.cannot_tell_whose();
        }
        match mishap {
            Mishap::DiesBeforeRecord => return self.restart(),
            Mishap::NoteTakenBeforeRecord => self.object.conditions.corrected = None,
            _ => {}
        }
        self.memory.finish(correction, &outcome, self.now);
        self.record(correction, &outcome);
        if mishap == Mishap::DiesAfterRecord {
            self.restart();
        }
    }

    /// The deletion of what the object claims.
    fn delete_outside(&mut self, correction: &Correction, answer: Answer, mishap: Mishap) {
        assert!(!self.object.orphan, "what was to be left is deleted");
        assert!(self.object.deleting && self.owns_in(self.scope), "what is not ours is deleted");
        let is_foreign = self.outside().is_some_and(|resource| resource.foreign);
        assert!(!is_foreign || self.target.existing == Existing::Adopt || self.claim_lost, "what was there is deleted");
        self.memory.begin(self.now, None);
        if matches!(answer, Answer::Done | Answer::LostAfter) {
            *self.outside_mut() = None;
        }
        let outcome = match answer {
            Answer::Done => Outcome::Applied,
            Answer::AcceptedWithoutEffect => Outcome::Underway { retry_after: None },
            Answer::Refused => refused(409),
            Answer::LostBefore | Answer::LostAfter => doubtful(Doubt::NoAnswer),
            Answer::TurnedAway => doubtful(Doubt::CredentialRefused),
        };
        self.send(correction, &outcome);
        if mishap != Mishap::None {
            return self.restart();
        }
        self.memory.finish(correction, &outcome, self.now);
        self.deleted_outside = outcome == Outcome::Applied;
        if outcome != Outcome::Applied {
            self.record(correction, &outcome);
        }
    }

    fn record(&mut self, correction: &Correction, outcome: &Outcome) {
        // What stands on the object now; the claim is not yet part of what the process remembers.
        let status = correction.to_record(&self.object.conditions.correction_status(), outcome);
        let Some(status) = status else { return };
        let stands = status.stands(self.object.conditions.corrected());
        if !stands && self.status_refused {
            // Who is being deleted is not held for a status.
            self.unrecorded = (!self.object.deleting).then(|| (correction.clone(), outcome.clone()));
            return;
        }
        if !stands {
            self.write(&status);
        }
        self.memory.land_outcome(status);
    }

    /// One key stands for one request, and is not used again once its outcome is known.
    fn send(&mut self, correction: &Correction, outcome: &Outcome) {
        let key = correction.idempotency_key("u", 0, None);
        let body = (correction.number, self.spec, correction.correct_hash);
        for sent in self.requests.iter().filter(|sent| sent.key == key) {
            assert_eq!(sent.body, body, "one key for two requests");
            assert!(!sent.definite || self.crashed, "a definite request is sent again without a crash: {key}");
        }
        let doubted = self.requests.last().filter(|last| !last.definite && last.body.0 == correction.number);
        let is_edited = doubted.is_some_and(|doubted| doubted.body.2 != correction.correct_hash);
        let may_be_edited = self.polled || self.crashed || correction.action == Action::Delete;
        assert!(!is_edited || may_be_edited, "another request while one is in doubt, and no poll between");
        self.polled = false;
        self.requests.push(Request { key, body, definite: outcome.is_definite() });
    }

    /// After a claim whose create may or may not have been done, nobody can tell whose the resource is: it is ours,
    /// or a crash between claim and note would lose what we made.
    fn cannot_tell_whose(&mut self) {
        let is_said = self.object.conditions.corrected().is_some();
        if let Some(resource) = self.outside_mut() {
            resource.foreign &= !is_said;
        }
    }

    /// What must hold of each request the moment it is sent.
    fn check_request(&mut self, correction: &Correction) {
        let standing = self.object.conditions.observed().and_then(Standing::read);
        let Some(standing) = standing else { unreachable!("a correction without a verdict") };
        assert_eq!(standing.reason.status(), ConditionStatus::True);
        assert_eq!(standing.generation, self.object.generation, "a verdict of another generation");
        assert_eq!(standing.tag.wish, Some(self.wish()), "a verdict of another wish");
        assert!(self.vouched, "nobody vouches");
        assert!(!self.object.deleting, "a deleting object is corrected");
        assert_eq!(self.target.mode, Mode::Correct, "an observed object is corrected");
        assert!(self.object.has_finalizer() || !self.target.deletes(), "a claim that a deletion would not see");
        let is_started = self.status().reason == Some(CorrectedReason::CorrectionStarted);
        assert!(!is_started || correction.claim_first, "a claim of an earlier process is acted on without a poll");
        assert_eq!(self.verified + 1, correction.number, "the correction before is not verified");
        let is_held = |since| self.now.saturating_since(since) < VERDICT_HELD_FOR;
        assert!(!self.replayed_at.is_some_and(is_held), "a verdict that was put back is acted on");
        if correction.action == Action::Update && self.target.existing == Existing::Refuse {
            assert!(!self.outside().is_some_and(|resource| resource.foreign), "what was there before is touched");
        }
    }

    /// The external system: it refuses to create what exists and to update what does not.
    fn ask(&mut self, correction: &Correction, answer: Answer) -> Outcome {
        let possible = (correction.action == Action::Create) == self.outside().is_none();
        let refused = refused(409);
        let effective = matches!(answer, Answer::Done | Answer::LostAfter);
        if effective && possible {
            let foreign = self.outside().is_some_and(|resource| resource.foreign);
            *self.outside_mut() = Some(Resource { value: self.spec, foreign });
        }
        match answer {
            Answer::LostBefore | Answer::LostAfter => doubtful(Doubt::NoAnswer),
            Answer::TurnedAway => doubtful(Doubt::CredentialRefused),
            Answer::Refused => refused,
            _ if !possible => refused,
            Answer::Done | Answer::AcceptedWithoutEffect => Outcome::Applied,
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

fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => Just(Answer::Done),
        1 => Just(Answer::AcceptedWithoutEffect),
        1 => Just(Answer::Refused),
        1 => Just(Answer::LostBefore),
        1 => Just(Answer::LostAfter),
        1 => Just(Answer::TurnedAway),
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

fn meanwhiles() -> impl Strategy<Value = Meanwhile> {
    prop_oneof![
        12 => Just(Meanwhile::Nothing),
        2 => (1_u8..4).prop_map(Meanwhile::Edited),
        1 => Just(Meanwhile::Deleted),
    ]
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![1 => Just(Mode::Observe), 2 => Just(Mode::Correct)]
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => Just(Event::PollBegins),
        4 => Just(Event::PollEnds),
        8 => (answers(), mishaps(), meanwhiles())
            .prop_map(|(answer, mishap, meanwhile)| Event::Controller(answer, mishap, meanwhile)),
        4 => (0_u64..400).prop_map(Event::Passes),
        1 => (1_u8..4).prop_map(Event::Edited),
        1 => (1_u8..4).prop_map(Event::ChangedOutside),
        1 => Just(Event::RemovedOutside),
        1 => Just(Event::MadeByOthers),
        1 => any::<bool>().prop_map(Event::Vouched),
        1 => Just(Event::NoteTaken),
        1 => Just(Event::StatusAltered),
        1 => Just(Event::FinalizerStripped),
        1 => any::<bool>().prop_map(Event::StatusRefused),
        1 => Just(Event::Replayed),
        1 => any::<u8>().prop_map(Event::StepsEdited),
        1 => any::<bool>().prop_map(|cleaned| Event::TargetReadded { cleaned }),
        1 => scopes().prop_map(Event::ScopeSet),
        1 => Just(Event::Restarted),
        1 => (1_u8..12).prop_map(Event::Overtaken),
        1 => any::<u8>().prop_map(Event::RetryRequested),
        1 => modes().prop_map(Event::ModeSet),
    ];
    proptest::collection::vec(event, 1..120)
}

fn scopes() -> impl Strategy<Value = Scope> {
    prop_oneof![2 => Just(Scope::Here), 1 => Just(Scope::Elsewhere)]
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
        existing in existing(), outside in any::<[Option<u8>; 2]>(), has_generation: bool, deletes: bool,
        (mode, scope) in (modes(), scopes()), events in events(), (deleted, orphaned, refused) in any::<(bool, bool, bool)>()
    ) {
        let mut world = World::with_two(existing, outside.map(|value| value.map(|value| value % 3 + 1)));
        world.target.actions.delete = deletes;
        if !has_generation {
            world.object.generation = None;
        }
        for event in events {
            world.apply(event);
        }
        world.vouched = true;
        world.poll = None;
        world.overtaken = 0;
        world.target.mode = mode;
        world.set_scope(scope);
        // A refused status holds nobody who is being deleted.
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
        // What was claimed in the other scope stays as it is, and nothing is done in this one.
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

/// Seconds between two rounds of the long histories: below the longest delays, so that they are what bounds them.
const STEP: u64 = 10;

/// Lets the controller and the poller take turns for so many hours; `between` is what happens between two rounds.
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
        let keys: std::collections::BTreeSet<_> = world.requests.iter().map(|request| &request.key).collect();
        assert_eq!(keys.len(), asked, "a definite outcome did not spend its number");
    }
}

#[test]
fn answers_that_never_come_spend_no_number_and_are_noted_once() {
    let hours = 24;
    let mut world = World::new(Existing::Adopt, Some(9));
    run_for(&mut world, hours, Answer::LostBefore, |_| {});
    let (asked, slowest) = (world.requests.len(), hours * 3600 / 300);
    assert!(world.requests.windows(2).all(|pair| pair[0].key == pair[1].key));
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

#[test]
fn an_edit_that_comes_during_a_correction_is_brought_outside_by_the_next_one() {
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
fn a_writer_who_is_always_faster_costs_a_bounded_number_of_tries() {
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
fn a_note_that_was_taken_away_is_put_back_at_once_though_another_writer_is_faster_first() {
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
fn a_note_that_is_taken_away_again_and_again_is_put_back_once_a_minute() {
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
fn a_deletion_that_is_not_done_is_asked_for_less_and_less_often_until_it_is() {
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
