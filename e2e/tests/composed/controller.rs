//! The controller as a step machine: its engines between the values of the world, one step at a time.
//!
//! It performs the effects of the engines in the order of the history. It decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::{ScopeId, Uid};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::correction::Correction;
use drift_controller::engine::decide::attestation::Attestations;
use drift_controller::engine::execution::{News, Operation, Write};
use drift_controller::engine::objects::object_store::Handover;
use drift_controller::engine::{self, Effect, Input, Now, Report, SharedState};
use drift_controller::run::target_actor::input_of;
use drift_kube::{ObjectEvent, UnderWay, Wake};
use drift_language::{Target, TargetState};

use crate::act::Acting;
use crate::api_server::ApiServer;
use crate::calls::{Clock, Scene};
use crate::decisions::Decided;
use crate::endings;
use crate::governing::{Published, States};
use crate::ledger::Ledger;
use crate::outside::{Fault, Outside};
use crate::shared::{Around, Shared};
use crate::targets::{NAMES, Text, is_open, key_claimed};

/// Time after which claims do not wait for the list of a target.
const LIST_WITHIN: Duration = Duration::from_secs(300);

/// One term of a controller process.
#[derive(Default)]
pub(crate) struct Controller {
    targets: BTreeMap<&'static str, AtWork>,
    /// Engines of former texts, which finish their work.
    superseded: Vec<AtWork>,
    around: Around,
    published: Arc<Published>,
    handovers: BTreeMap<&'static str, Handover>,
    tasks: Vec<Task>,
    ended: Vec<Ended>,
    decided: Vec<Decided>,
    /// Objects that a target has forgotten.
    forgotten: Vec<(String, Uid)>,
    violation: Option<String>,
    texts: u64,
}

/// A running target.
struct AtWork {
    engine: engine::Target<Shared>,
    target: Arc<Target>,
    text: Text,
    /// Number of its text among the texts of all targets.
    number: u64,
    since: Moment,
    is_listed: bool,
    state: TargetState,
}

/// An execution in progress for one object.
struct Task {
    text: u64,
    uid: Uid,
    since: Moment,
    acting: Acting,
}

/// An ended execution that the ledger does not know yet.
struct Ended {
    uid: Uid,
    /// The target has another text since the start, so the end is not recorded.
    is_forgotten: bool,
    /// The resource that its deletion reportedly did not find.
    missed: Option<String>,
}

impl AtWork {
    fn step(&mut self, input: Input, clock: Clock) -> Vec<Effect> {
        self.engine.step(now(clock), input)
    }
}

impl Controller {
    /// Accepts the currently active targets.
    pub(crate) fn configure(
        &mut self,
        (texts, states): (&BTreeMap<&'static str, (Text, Arc<Target>)>, &States),
        clock: Clock,
    ) {
        let changed = |name: &str, at_work: &AtWork| texts.get(name).is_none_or(|(text, _)| *text != at_work.text);
        let gone: Vec<&'static str> =
            self.targets.iter().filter(|(name, at_work)| changed(name, at_work)).map(|(name, _)| *name).collect();
        for name in gone {
            let Some(mut at_work) = self.targets.remove(name) else { continue };
            let (mut handover, effects) = at_work.engine.supersede(now(clock));
            if !texts.contains_key(name) {
                handover.forget_claims();
            }
            self.handovers.insert(name, handover);
            let number = at_work.number;
            self.superseded.push(at_work);
            self.perform_all(number, effects, clock);
        }
        for (name, (text, target)) in texts {
            if self.targets.contains_key(name) {
                continue;
            }
            let handover = self.handovers.remove(name).unwrap_or_default();
            self.texts += 1;
            let shared = Shared::new(target, self.around.clone());
            let engine = engine::Target::new(target.clone(), shared, handover);
            let (number, state) = (self.texts, states.get(name).copied().unwrap_or_default());
            let target = target.clone();
            let at_work = AtWork { engine, target, text: *text, number, since: clock.moment, is_listed: false, state };
            self.targets.insert(name, at_work);
            self.feed(number, Input::StateChanged(state), clock);
        }
    }

    /// Accepts the targets by their ConfigMaps, and the notes on the Lease.
    pub(crate) fn publish(&mut self, published: Arc<Published>, clock: Clock) {
        self.published = published;
        self.arrange(clock);
    }

    fn arrange(&self, clock: Clock) {
        let Published { configuration, notes, .. } = &*self.published;
        notes.read(|notes| self.around.identities.arrange(configuration, notes, clock.moment));
    }

    /// Accepts the state of a target by its ConfigMaps.
    pub(crate) fn govern(&mut self, name: &str, state: TargetState, clock: Clock) {
        let Some(at_work) = self.targets.get_mut(name) else { return };
        at_work.state = state;
        let number = at_work.number;
        self.feed(number, Input::StateChanged(state), clock);
    }

    /// Returns true if each target has read its list, and none is noted whose text is lost.
    pub(crate) fn has_all_lists(&self) -> bool {
        self.targets.values().all(|at_work| at_work.is_listed) && !self.published.has_missing
    }

    /// Returns true if each target in the scope has read its list, or waits for it for too long.
    fn knows_everybody(&self, scope: ScopeId, clock: Clock) -> bool {
        let is_known = |at_work: &AtWork| at_work.is_listed || clock.moment >= at_work.since + LIST_WITHIN;
        self.targets.values().filter(|at_work| at_work.target.scope.id == scope).all(is_known)
    }

    /// Passes an event of its objects to the target.
    pub(crate) fn take(&mut self, target: &str, event: ObjectEvent, clock: Clock) {
        let (Some(at_work), Some(input)) = (self.targets.get_mut(target), input_of(event)) else { return };
        at_work.is_listed |= matches!(input, Input::Listed);
        let (number, left) = (at_work.number, left_by(&input));
        self.forgotten.extend(left.map(|uid| (target.to_owned(), uid)));
        self.feed(number, input, clock);
    }

    /// Sets the poller's current attestations.
    pub(crate) fn attest(&mut self, attestations: Attestations, clock: Clock) {
        self.around.attest(attestations);
        self.feed_all(|| Input::AttestationChanged, clock);
    }

    /// Lets all targets start due work.
    pub(crate) fn attend(&mut self, clock: Clock) {
        self.around.set_secret(clock.known_secret());
        self.arrange(clock);
        for name in NAMES {
            while let Some(wake) = self.targets.get_mut(name).and_then(|at_work| at_work.engine.program.next_wake()) {
                let Some(number) = self.targets.get(name).map(|at_work| at_work.number) else { break };
                let input = match wake {
                    Wake::Object(uid) => Input::Concerned(uid),
                    Wake::Scopes => Input::ScopesChanged,
                };
                self.feed(number, input, clock);
            }
        }
        self.feed_all(|| Input::Tick, clock);
        let superseded: Vec<_> = self.superseded.iter().map(|at_work| at_work.number).collect();
        superseded.into_iter().for_each(|number| self.feed(number, Input::Tick, clock));
        self.superseded.retain(|at_work| at_work.engine.is_at_work());
    }

    fn feed_all(&mut self, input: impl Fn() -> Input, clock: Clock) {
        let numbers: Vec<_> = self.targets.values().map(|at_work| at_work.number).collect();
        numbers.into_iter().for_each(|number| self.feed(number, input(), clock));
    }

    fn at_work(&mut self, number: u64) -> Option<&mut AtWork> {
        self.targets.values_mut().chain(&mut self.superseded).find(|at_work| at_work.number == number)
    }

    /// Passes an input to the engine of the text, and performs its effects.
    fn feed(&mut self, number: u64, input: Input, clock: Clock) {
        let effects = self.at_work(number).map(|at_work| at_work.step(input, clock)).unwrap_or_default();
        self.perform_all(number, effects, clock);
    }

    fn perform_all(&mut self, number: u64, effects: Vec<Effect>, clock: Clock) {
        let mut missed = None;
        for effect in effects {
            match effect {
                Effect::Do(object, operation) => self.assign(number, (object, operation), clock),
                Effect::End(uid) => self.end(number, uid, missed.take()),
                Effect::Report(Report::Correction { object, correction, news: News::Decided, .. }) => {
                    self.note_decision(number, &object, (Some(correction), None), clock);
                }
                Effect::ReadAnew(known) => unreachable!("a list is older than what is known of {}", known.id),
                Effect::Report(Report::DeletionFoundNothing(object)) => missed = Some(object),
                Effect::Report(_) | Effect::WakeAt(_) => {}
            }
        }
    }

    fn assign(&mut self, number: u64, (object, operation): (Box<LeanObject>, Operation), clock: Clock) {
        if let Operation::Write(Write::ReleaseFinalizer { left_behind }) = operation {
            self.note_decision(number, &object, (None, Some(left_behind)), clock);
        }
        let (now, uid) = (clock.moment, object.id.uid.clone());
        if let Some(task) = self.task(number, &uid) {
            return task.acting.assign((object, operation), now);
        }
        let Some(at_work) = self.at_work(number) else { return };
        let mut acting = Acting::new(&at_work.target, at_work.text);
        acting.assign((object, operation), now);
        self.tasks.push(Task { text: number, uid, since: now, acting });
    }

    fn task(&mut self, number: u64, uid: &Uid) -> Option<&mut Task> {
        self.tasks.iter_mut().find(|task| task.text == number && task.uid == *uid)
    }

    fn end(&mut self, number: u64, uid: Uid, missed: Option<Box<LeanObject>>) {
        self.tasks.retain(|task| task.text != number || task.uid != uid);
        let is_forgotten = self.targets.values().all(|at_work| at_work.number != number);
        let missed = missed.and_then(|object| Some(key_claimed(object.conditions.correction_status().owned()?)));
        self.ended.push(Ended { uid, is_forgotten, missed });
    }

    /// Records the decision on a read object: its correction, or that its finalizer is removed, and if the resource is left
    /// behind. A decision without its Secret does not count.
    fn note_decision(
        &mut self,
        number: u64,
        object: &LeanObject,
        (correction, leaves): (Option<Box<Correction>>, Option<bool>),
        clock: Clock,
    ) {
        let mut was_read = false;
        if let Some(task) = self.task(number, &object.id.uid) {
            was_read = task.acting.was_read();
            correction.iter().for_each(|correction| task.acting.decide(correction.clone(), clock.moment));
        }
        let Some(at_work) = self.targets.values().find(|at_work| at_work.number == number) else { return };
        let differ = endings::compare(&at_work.target, &at_work.engine, object, (correction.as_deref(), leaves));
        self.violation = self.violation.take().or(differ);
        self.decided.push(Decided {
            object: object.clone(),
            correction,
            says_deleted: leaves == Some(false),
            target: at_work.target.clone(),
            is_attested: at_work.engine.program.attests(&object.id, clock.moment),
            has_text_of_poller: self.around.has_text_of_poller(&at_work.target),
            state: at_work.state,
            knows_everybody: self.knows_everybody(at_work.target.scope.id, clock),
            is_open: !at_work.text.has_windows || is_open(object.deleting, clock.since_epoch()),
            was_read,
            at: clock.moment,
        });
    }

    /// Reports decisions and ended executions to the ledger.
    pub(crate) fn note_ends(&mut self, ledger: &mut Ledger, outside: &Outside, api: &ApiServer) {
        self.violation.take().into_iter().for_each(|violation| ledger.violate(violation));
        ledger.note_decisions(self.decided.drain(..), api);
        self.forgotten.drain(..).for_each(|(target, uid)| ledger.decisions.forget(&target, &uid));
        for Ended { uid, is_forgotten, missed } in self.ended.drain(..) {
            ledger.writing.remove(&uid);
            // "Nothing to delete" must not be reported if a request for the same object had deleted the resource.
            if missed.is_some_and(|resource| outside.taken.get(&resource) == Some(&uid)) {
                ledger.violate(format!("{uid:?}: told to miss what its own deletion took away"));
            }
            if is_forgotten {
                ledger.left.insert(uid);
            }
        }
    }

    /// Advances one task by a step.
    pub(crate) fn step(&mut self, index: usize, fault: Fault, scene: &mut Scene<'_>) {
        if self.tasks.is_empty() {
            return;
        }
        let mut task = self.tasks.swap_remove(index % self.tasks.len());
        let (clock, number, uid) = (scene.clock, task.text, task.uid.clone());
        self.around.set_secret(clock.known_secret());
        task.since = clock.moment;
        let waits = task.acting.waits_until().is_some_and(|until| until > clock.moment);
        let done = match self.around.has_lease() {
            _ if waits => None,
            true => task.acting.go_on(fault, scene),
            false => task.acting.go_on_without_lease(scene),
        };
        self.tasks.push(task);
        if let Some(done) = done {
            self.feed(number, Input::Done(uid.clone(), done), clock);
        }
        if self.tasks.iter().any(|task| task.text == number && task.uid == uid && task.acting.pauses()) {
            scene.ledger.writing.remove(&uid);
        }
        self.note_ends(scene.ledger, scene.outside, scene.api);
    }

    /// Ends the term after the loss of the Lease.
    pub(crate) fn end_term(&mut self, clock: Clock) {
        self.around.lose_lease();
        let all = self.targets.values().chain(&self.superseded).map(|at_work| at_work.number);
        all.collect::<Vec<_>>().into_iter().for_each(|number| self.feed(number, Input::TermEnded, clock));
    }

    /// Returns the first task that is overdue.
    pub(crate) fn overdue(&self, since: Moment, now: Moment) -> Option<usize> {
        let is_overdue = |task: &Task| task.acting.waits_until().map_or(task.since < since, |until| until <= now);
        self.tasks.iter().position(|task| !task.acting.pauses() && is_overdue(task))
    }

    /// Returns a task that can advance at once.
    pub(crate) fn ready(&self, now: Moment) -> Option<usize> {
        let is_ready = |task: &Task| task.acting.waits_until().is_none_or(|until| until <= now);
        self.tasks.iter().position(|task| !task.acting.pauses() && is_ready(task))
    }

    /// Returns the number of tasks in progress.
    pub(crate) fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the objects with work in progress.
    pub(crate) const fn objects_under_way(&self) -> &UnderWay {
        &self.around.under_way
    }
}

fn now(clock: Clock) -> Now {
    Now { moment: clock.moment, wall: clock.since_epoch() }
}

/// Returns the object that the target forgets with this input.
fn left_by(input: &Input) -> Option<Uid> {
    match input {
        Input::Left(uid) => Some(uid.clone()),
        Input::Skipped(object) => Some(object.id.uid.clone()),
        _ => None,
    }
}
