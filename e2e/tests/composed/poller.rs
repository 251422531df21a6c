//! The poller as a step machine: its engines between the values of the world, one step at a time.
//!
//! It performs the effects of the engines in the order of the history. A poll or write in progress waits for its next
//! step, so that any event can happen in between. It decides nothing.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::condition::{Condition, ConditionKind, ConditionStatus, DesiredHash, ObservedReason};
use drift_api::identity::Uid;
use drift_api::names::DRIFT_OBSERVED;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::object_view::OpenView;
use drift_api::timing::moment::Moment;
use drift_api::unwritten::UnwrittenWord;
use drift_kube::ObjectEvent;
use drift_language::{Target, TargetState};
use drift_poller::engine::judgement::Basis;
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::drift::Subject;
use drift_poller::engine::judgement::finding::{Failure, Finding, Found};
use drift_poller::engine::object::object_state::Update;
use drift_poller::engine::poll::http_reading::{Progress, Reading};
use drift_poller::engine::poll::known_finding::{Fingerprint, KnownFinding};
use drift_poller::engine::poll::request::Request;
use drift_poller::engine::schedule::Now;
use drift_poller::engine::writes::write_attempts::{self, WriteOutcome};
use drift_poller::engine::{
    self, Effect, EndedWrite, Input, PollOrder, PollResult, Postponed, SharedState, TraversalOrder,
};
use drift_poller::run::target_actor::input_of;
use drift_systems::HttpReply;
use json_patch::Patch;
use serde_json::{Value, json};

use crate::api_server::{ApiServer, Refusal, seen_report};
use crate::calls::{Clock, Scene, call};
use crate::governing::States;
use crate::outside::{Fault, resource_of};
use crate::targets::NAMES;
use crate::traversing::traverse;

/// Delay that a rate limit asks for.
pub(crate) const ASKED_DELAY: Duration = Duration::from_secs(100);

/// Time for which a former target is polled.
const POLLED_FOR: Duration = Duration::from_secs(600);

/// One target's share of the state that all targets of the simulated poller use.
struct Shared {
    paused_until: Rc<Cell<Moment>>,
}

impl SharedState for Shared {
    fn postponed(&self, _request: &Request, now: Moment) -> Option<Postponed> {
        let until = self.paused_until.get();
        (now < until).then(|| Postponed { until, cause: Failure::of(ObservedReason::ExternalUnreachable) })
    }

    fn next_read_at(&self, now: Moment) -> Moment {
        now
    }

    fn take_read(&mut self, _now: Moment) {}
}

/// A running target.
struct AtWork {
    engine: engine::Target<Shared>,
    target: Arc<Target>,
    /// Number of the target's text. Work of an earlier text no longer counts.
    text: u64,
    state: TargetState,
    /// It was notified that its list is complete.
    is_listed: bool,
    /// Objects that it must leave alone.
    left: BTreeSet<Uid>,
    /// For each object its last written condition, the attempted ones since, and one that was current when its own poll
    /// saw drift.
    own_words: BTreeMap<Uid, Vec<Condition>>,
    /// The state and K for which the last complete poll of each object found it in sync.
    in_sync: BTreeMap<Uid, (Option<DesiredHash>, u64)>,
}

impl AtWork {
    fn note(&mut self, input: &Input) {
        match input {
            Input::Listed => self.is_listed = true,
            Input::Seen(object) => drop(self.left.remove(&object.id.uid)),
            Input::Left(uid) => drop(self.left.insert(uid.clone())),
            Input::Skipped(object) => drop(self.left.insert(object.id.uid.clone())),
            Input::PollEnded(result) => self.note_result(result),
            Input::TraversalEnded(ended) => ended.results.iter().for_each(|result| self.note_result(result)),
            Input::WriteEnded(write) if write.outcome == WriteOutcome::Written => {
                let written = write.object.as_ref().and_then(|object| object.conditions.observed().cloned());
                self.own_words.insert(write.before.id.uid.clone(), Vec::from_iter(written));
            }
            _ => {}
        }
    }

    fn note_result(&mut self, result: &PollResult) {
        let basis = &result.begun.basis;
        match &result.found {
            Ok(found) if found.finding == Finding::InSync => {
                self.in_sync.insert(result.uid.clone(), (basis.desired_hash, basis.correction));
            }
            Ok(found) if matches!(found.finding, Finding::Failed(_)) => {}
            Ok(_) => drop(self.in_sync.remove(&result.uid)),
            Err(_) => {}
        }
        let sees_drift =
            matches!(&result.found, Ok(found) if matches!(found.finding, Finding::Differs(_) | Finding::Absent));
        let state = self.engine.objects().state(&result.uid).filter(|_| sees_drift);
        let observed = state.and_then(|state| state.object().conditions.observed());
        let observed = observed.cloned();
        self.own_words.entry(result.uid.clone()).or_default().extend(observed);
    }

    /// Returns an attested object that another writer reported as drifted.
    fn attested_wrongly(&self, attestation: &Attestation) -> Option<String> {
        let objects = self.engine.objects().states().map(|state| state.object());
        let mut drifted = objects.filter(|object| !object.deleting && is_called_drifted(object));
        let is_own = |object: &&LeanObject| {
            let words = self.own_words.get(&object.id.uid);
            object.conditions.observed().is_some_and(|observed| words.is_some_and(|words| words.contains(observed)))
        };
        let wrong = drifted.find(|object| !is_own(object) && !attestation.except.has(&object.id))?;
        Some(format!("the word of others is attested: {}", wrong.id.uid))
    }

    /// Returns the violation by an effect of an earlier instruction.
    fn violated_by(&self, effect: &Effect) -> Option<String> {
        match effect {
            Effect::Poll(order) => {
                self.left.contains(&order.uid).then(|| format!("an object is polled that is another's: {}", order.uid))
            }
            Effect::Write(update) => {
                let written = condition_in(&update.patch).filter(|written| written.status == ConditionStatus::True)?;
                let (tag, uid) = (written.message.tag().unwrap_or_default(), &update.object.id.uid);
                let is_older = self.in_sync.get(uid) == Some(&(tag.desired_hash, tag.correction));
                is_older.then(|| format!("drift is written that the last poll did not see: of {uid}"))
            }
            Effect::Attest(Some(_)) if self.state != TargetState::Live => {
                Some(format!("a target is attested that no live text governs: {}", self.target.name))
            }
            Effect::Attest(Some(_)) => {
                (!self.is_listed).then(|| format!("a target is attested before its list is read: {}", self.target.name))
            }
            _ => None,
        }
    }
}

fn is_called_drifted(object: &LeanObject) -> bool {
    object.conditions.observed().is_some_and(|observed| observed.status == ConditionStatus::True)
}

/// A read or write in progress.
struct Task {
    target: &'static str,
    text: u64,
    since: Moment,
    step: Step,
}

enum Step {
    Poll(Box<PollOrder>),
    Traverse(TraversalOrder),
    Write(Box<Update>),
    ReadAnew(Box<LeanObject>),
    /// The end, which the engine does not know yet.
    Ended(Input),
}

/// A process of the poller.
#[derive(Default)]
pub(crate) struct Poller {
    targets: BTreeMap<&'static str, AtWork>,
    /// End of the pause of the external system's host.
    paused_until: Rc<Cell<Moment>>,
    tasks: Vec<Task>,
    texts: u64,
    pub(crate) violation: Option<String>,
    /// The attestations for its Lease.
    pub(crate) active: BTreeMap<String, Attestation>,
    /// Hashes of the whole documents of the attested targets.
    pub(crate) attested_texts: BTreeMap<String, String>,
}

impl Poller {
    /// Returns the number of tasks in progress.
    pub(crate) fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// Returns true if each target has read its list.
    pub(crate) fn has_all_lists(&self) -> bool {
        self.targets.values().all(|at_work| at_work.is_listed)
    }

    /// Accepts the currently active targets.
    pub(crate) fn configure(
        &mut self,
        (targets, states): (&BTreeMap<&'static str, Arc<Target>>, &States),
        clock: Clock,
    ) {
        self.targets.retain(|name, at_work| {
            targets.get(name).is_some_and(|target| target.document_hash == at_work.target.document_hash)
        });
        let active = &mut self.active;
        active.retain(|name, _| self.targets.contains_key(name.as_str()));
        for (name, target) in targets {
            if !self.targets.contains_key(name) {
                self.texts += 1;
                let shared = Shared { paused_until: self.paused_until.clone() };
                let engine = engine::Target::new(target.clone(), shared);
                let (target, text) = (target.clone(), self.texts);
                let (left, own_words, in_sync) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
                let (is_listed, state) = (false, TargetState::Live);
                let at_work = AtWork { engine, target, text, is_listed, state, left, own_words, in_sync };
                self.targets.insert(name, at_work);
                self.govern(name, states.get(name).copied().unwrap_or_default(), clock);
            }
        }
    }

    /// Accepts the state of a target by its ConfigMaps.
    pub(crate) fn govern(&mut self, name: &'static str, state: TargetState, clock: Clock) {
        if let Some(at_work) = self.targets.get_mut(name) {
            at_work.state = state;
        }
        self.feed(name, Input::StateChanged { state, polled_for: POLLED_FOR }, clock);
    }

    /// Passes an event of its objects to the target.
    pub(crate) fn take(&mut self, target: &str, event: ObjectEvent, clock: Clock) {
        let Some(name) = NAMES.into_iter().find(|name| *name == target) else { return };
        self.feed(name, input_of(event), clock);
    }

    /// Lets all running targets start due work.
    pub(crate) fn attend(&mut self, clock: Clock) {
        NAMES.into_iter().for_each(|name| self.feed(name, Input::Tick, clock));
    }

    /// Sets the end of the pause of the external system's host.
    pub(crate) fn pause_host(&self, until: Moment) {
        self.paused_until.set(until);
    }

    /// Passes an input to the engine of the target, and performs its effects.
    fn feed(&mut self, name: &'static str, input: Input, clock: Clock) {
        let Some(at_work) = self.targets.get_mut(name) else { return };
        let (text, is_tick) = (at_work.text, matches!(input, Input::Tick));
        at_work.note(&input);
        for effect in at_work.engine.step(now_of(clock), input) {
            if let Some(what) = at_work.violated_by(&effect) {
                self.violation.get_or_insert(what);
            }
            let step = match effect {
                Effect::Poll(order) => Step::Poll(order),
                Effect::Write(update) => {
                    let uid = update.object.id.uid.clone();
                    at_work.own_words.entry(uid).or_default().extend(condition_in(&update.patch));
                    Step::Write(update)
                }
                Effect::ReadAnew(known) => Step::ReadAnew(known),
                Effect::Attest(Some(attestation)) => {
                    self.active.insert(name.to_owned(), attestation);
                    self.attested_texts.insert(name.to_owned(), at_work.target.document_hash.clone());
                    continue;
                }
                Effect::Attest(None) => {
                    self.active.remove(name);
                    continue;
                }
                Effect::Traverse(order) => Step::Traverse(order),
                Effect::Unwritten(_) | Effect::Report(_) | Effect::WakeAt(_) => continue,
            };
            self.tasks.push(Task { target: name, text, since: clock.moment, step });
        }
        if let Some(what) = self.active.get(name).filter(|_| is_tick).and_then(|word| at_work.attested_wrongly(word)) {
            self.violation.get_or_insert(what);
        }
    }

    /// Advances one task by a step.
    pub(crate) fn step(&mut self, index: usize, fault: Fault, scene: &mut Scene<'_>) {
        if self.tasks.is_empty() {
            return;
        }
        let mut task = self.tasks.swap_remove(index % self.tasks.len());
        let at_work = self.targets.get(task.target).filter(|at_work| at_work.text == task.text);
        match (task.step, at_work) {
            (Step::Poll(order), Some(at_work)) => {
                task.step = Step::Ended(Input::PollEnded(Box::new(poll(&at_work.target, *order, fault, scene))));
                self.tasks.push(task);
            }
            (Step::Traverse(order), Some(at_work)) => {
                task.step = Step::Ended(Input::TraversalEnded(traverse(&at_work.target, order, fault, scene)));
                self.tasks.push(task);
            }
            (Step::Write(update), _) => {
                // A sent write takes effect even if its sender no longer waits.
                let fields = self.targets.get(task.target).map(|at_work| at_work.target.poll_fields.clone());
                let (outcome, object) = send(&update, &fields.unwrap_or_default(), fault, scene);
                let object = object.map(|object| object.read_after(&update.object));
                let ended = EndedWrite { before: update.object, object, outcome };
                task.step = Step::Ended(Input::WriteEnded(Box::new(ended)));
                self.tasks.push(task);
            }
            (Step::ReadAnew(known), Some(at_work)) => {
                let live = scene.api.read(&known.id.name, &known.id.uid);
                let lean = |object: Value| {
                    let object = LeanObject::prune(&object, &at_work.target.poll_fields);
                    let object = if known.report.is_some() { scene.api.with_report(object) } else { object };
                    Box::new(object.read_after(&known))
                };
                let live = live.map(lean);
                task.step = Step::Ended(Input::ReadAnew(live));
                self.tasks.push(task);
            }
            (Step::Ended(input), Some(_)) => self.feed(task.target, input, scene.clock),
            (Step::Poll(_) | Step::Traverse(_) | Step::ReadAnew(_) | Step::Ended(_), None) => {}
        }
    }

    /// Returns the oldest task that is overdue.
    pub(crate) fn overdue(&self, since: Moment) -> Option<usize> {
        self.tasks.iter().position(|task| task.since < since)
    }

    /// Ends the process. Its sent writes may still take effect.
    pub(crate) fn die(self) -> Self {
        let sent = self.tasks.into_iter().filter(|task| matches!(task.step, Step::Write(_)));
        Self { tasks: sent.map(|task| Task { text: 0, ..task }).collect(), texts: self.texts, ..Self::default() }
    }
}

/// Polls and judges the external state.
fn poll(target: &Target, order: PollOrder, fault: Fault, scene: &mut Scene<'_>) -> PollResult {
    let PollOrder { uid, begun, view, prepared, moved, known, .. } = order;
    let open = view.open();
    let answer = scene.outside.answers.reads;
    let fault = if fault == Fault::None { answer } else { fault };
    let pause = (answer == Fault::RateLimited).then_some(ASKED_DELAY);
    scene.outside.reads += 1;
    let (found, known) = match prepared.first() {
        Ok(Request::Http(request)) => {
            let resource = resource_of(request);
            scene.ledger.note_poll(&uid);
            let reply = scene.outside.read(&resource, fault);
            if reply.as_ref().is_some_and(|reply| reply.status.is_success()) {
                scene.ledger.creates.note_found(&target.name, &uid);
            }
            if fault == Fault::None {
                note_truth(target, (&uid, &begun.basis), (&resource, &open, &moved), scene);
            }
            find(target, (&open, &moved), reply.as_ref(), known)
        }
        other => unreachable!("the targets read by HTTP: {other:?}"),
    };
    PollResult { uid, begun, found: Ok(found), pause, tagged: None, known, took: Duration::ZERO }
}

/// Records a true answer about the resource of the object.
pub(crate) fn note_truth(
    target: &Target,
    (uid, basis): (&Uid, &Basis),
    (resource, open, moved): (&str, &Value, &[String]),
    scene: &mut Scene<'_>,
) {
    let shown = scene.outside.shown(resource).map(|real| real.value);
    // A field that cannot be read back counts only if it would be sent.
    let is_sent = !target.compare.write_only.is_empty();
    let has_moved = target.correct.mode.corrects() && is_sent && !moved.is_empty();
    if shown.is_none() {
        scene.ledger.decisions.note_absent(uid, basis.correction);
    }
    let differs = shown != open["spec"]["value"].as_i64() || has_moved;
    scene.ledger.note_read(uid, basis, differs);
    scene.outside.note_read(resource);
}

/// Judges a response. An identical response reuses the known result. Also returns the new known result.
fn find(
    target: &Target,
    (open, moved): (&OpenView<'_>, &[String]),
    reply: Option<&HttpReply>,
    known: Option<KnownFinding>,
) -> (Found, Option<KnownFinding>) {
    let failed = |reason: ObservedReason| Found::from(Finding::from(reason));
    let Some(reply) = reply else { return (failed(ObservedReason::PollTimedOut), known) };
    let subject = Subject { moved, ..Subject::from(&**open) };
    let by_fingerprint = judge(target, (open, subject), reply, known.as_ref());
    let judged = judge(target, (open, subject), reply, None);
    let finding = |judged: &Option<(Found, Fingerprint)>| judged.as_ref().map(|(found, _)| found.finding.clone());
    assert_eq!(finding(&by_fingerprint), finding(&judged), "what was found before is found no more");
    let Some((found, answers)) = by_fingerprint else { return (failed(ObservedReason::ResponseInvalid), None) };
    let known = judged.map(|(whole, _)| KnownFinding::new(answers, &whole));
    (found, known)
}

/// Judges a response. Also returns its fingerprint.
fn judge(
    target: &Target,
    (open, subject): (&OpenView<'_>, Subject<'_>),
    reply: &HttpReply,
    known: Option<&KnownFinding>,
) -> Option<(Found, Fingerprint)> {
    let mut reading = Reading::new(target.read.http()?, open).knowing(known);
    let Progress::Done(observed) = reading.take(reply) else { return None };
    Some((compare(target, subject, observed), reading.judged()?))
}

/// Sends the patch, and after a conflict the live read that follows.
fn send(
    update: &Update,
    fields: &FieldPaths,
    fault: Fault,
    scene: &mut Scene<'_>,
) -> (WriteOutcome, Option<LeanObject>) {
    let Update { object: before, patch } = update;
    let api: &mut ApiServer = scene.api;
    let lean = |object: &Value| LeanObject::prune(object, fields);
    let is_reported = before.report.is_some();
    let refusal =
        write_attempts::Refusal { sentence: "a missing right".to_owned(), word: UnwrittenWord::RightsMissing };
    let current = kept(before, api).cloned();
    let written = call(fault, api, |api| match is_reported {
        true => api.patch_report(before, patch).map(|report| before.clone().with_report(seen_report(&report))),
        false => api.patch(&before.id.name, patch, true).map(|object| lean(&object)),
    });
    if let Some(condition) = condition_in(patch) {
        scene.ledger.note_verdict(before, &condition, current.as_ref(), scene.api);
    }
    match written {
        Ok(object) => (WriteOutcome::Written, Some(object)),
        Err(Refusal::Moved) => {
            let live = scene.api.read(&before.id.name, &before.id.uid).map(|object| lean(&object));
            let live = live.map(|live| if is_reported { scene.api.with_report(live) } else { live });
            (WriteOutcome::Moved, live)
        }
        Err(Refusal::Gone) => (WriteOutcome::Gone, None),
        Err(Refusal::Refused) => (WriteOutcome::Refused(refusal), None),
        Err(Refusal::Unavailable) => (WriteOutcome::Unavailable, None),
    }
}

/// Returns where the conditions of an object are kept: itself, or its report.
pub(crate) fn kept<'a>(object: &LeanObject, api: &'a ApiServer) -> Option<&'a Value> {
    let name = &*object.id.name;
    if object.report.is_some() { api.reports.get(name) } else { api.objects.get(name) }
}

/// Returns the condition `driftObserved` that a patch writes.
fn condition_in(patch: &Patch) -> Option<Condition> {
    let operations = json!(patch);
    let mut values = operations.as_array()?.iter().map(|operation| &operation["value"]);
    let written = values.find(|value| value["type"] == DRIFT_OBSERVED)?;
    Some(Condition::from_json(ConditionKind::Observed, written))
}

fn now_of(clock: Clock) -> Now {
    Now { moment: clock.moment, wall: clock.since_epoch() }
}
