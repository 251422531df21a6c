//! The poller as a step machine: its real core between the values of the world, one step at a time.
//!
//! It does what the shell does in the shell's order: poll, judge, confirm, write. A poll or a write that is under way
//! waits for its next step, so that anything can happen in between. It decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use drift_api::condition::{Condition, ObservedReason, PatchBase, StatusFields, condition_patch};
use drift_api::identity::{Selected, Uid};
use drift_api::object::LeanObject;
use drift_api::object::object_view::{ObjectView, OpenView};
use drift_api::requests::http_request::HttpRequest;
use drift_api::timing::moment::Moment;
use drift_api::voucher::Voucher;
use drift_language::{Mode, Target};
use drift_poller::engine::judgement::drift::Subject;
use drift_poller::engine::judgement::finding::{Finding, Found};
use drift_poller::engine::object::object_state::{BegunPoll, NextWrite};
use drift_poller::engine::object::object_store::ObjectStore;
use drift_poller::engine::poll::known_finding::{Fingerprint, KnownFinding};
use drift_poller::engine::poll::reading::{Progress, Reading};
use drift_poller::engine::poll::reply::{Observation, compare};
use drift_poller::engine::schedule::Now;
use drift_poller::engine::schedule::poll_turns::PollTurn;
use drift_poller::engine::writes::write_attempts::WriteOutcome;
use drift_systems::HttpReply;
use serde_json::Value;

use crate::api_server::{ApiServer, Refusal};
use crate::calls::{Clock, Dispatch, Scene, call};
use crate::outside::{Fault, resource_of};
use crate::resources::Resources;
use crate::targets::NAMES;
use crate::watch::{Event, Watch};

/// One target at work.
struct AtWork {
    target: Arc<Target>,
    objects: ObjectStore,
    resources: Resources,
    /// Which of the target's texts; what an earlier one began counts no more.
    text: u64,
    /// Its list cannot be read yet, so that it hears of nothing.
    awaits_list: bool,
}

/// A poll or a write that is under way.
struct Task {
    target: &'static str,
    text: u64,
    uid: Uid,
    since: Moment,
    step: Step,
}

enum Step {
    Poll { begun: BegunPoll, look: Look, request: Box<HttpRequest> },
    Answered { begun: BegunPoll, finding: Finding, known: Option<KnownFinding> },
    Write { before: Box<LeanObject>, condition: Condition },
    Written { outcome: WriteOutcome, object: Option<Box<LeanObject>> },
}

/// The object as a poll of it begins.
struct Look {
    view: ObjectView,
    moved: Vec<String>,
    known: Option<KnownFinding>,
}

/// One process of the poller.
#[derive(Default)]
pub(crate) struct Poller {
    targets: BTreeMap<&'static str, AtWork>,
    resources: Resources,
    tasks: Vec<Task>,
    texts: u64,
    /// What it would put on the Lease.
    pub(crate) in_force: BTreeMap<String, Voucher>,
}

impl Poller {
    /// How many things are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// Whether each target has read its list.
    pub(crate) fn has_all_lists(&self) -> bool {
        self.resources.is_complete()
    }

    /// Takes in the targets that are in force now.
    pub(crate) fn configure(&mut self, targets: &BTreeMap<&'static str, Arc<Target>>, watch: &Watch, clock: Clock) {
        self.targets.retain(|name, at_work| {
            targets.get(name).is_some_and(|target| target.document_hash == at_work.target.document_hash)
        });
        for name in NAMES.into_iter().filter(|name| !targets.contains_key(name)) {
            self.resources.drop_target(name);
        }
        let in_force = &mut self.in_force;
        in_force.retain(|name, _| self.targets.contains_key(name.as_str()));
        for (name, target) in targets {
            if !self.targets.contains_key(name) {
                self.texts += 1;
                let objects = ObjectStore::new(target.clone());
                self.resources.join(target);
                self.targets.insert(
                    name,
                    AtWork {
                        target: target.clone(),
                        objects,
                        resources: self.resources.clone(),
                        text: self.texts,
                        awaits_list: true,
                    },
                );
            }
        }
        self.read_lists(watch, clock);
    }

    /// Tells everybody whose list can be read of all objects.
    pub(crate) fn read_lists(&mut self, watch: &Watch, clock: Clock) {
        self.targets.iter_mut().for_each(|(name, at_work)| at_work.awaits_list &= watch.is_barred(name));
        watch.objects().for_each(|object| self.take(&Event::Seen(object.clone()), clock));
        if watch.listed {
            self.take(&Event::Listed, clock);
        }
    }

    /// Takes in what the watch says: an object is the first target's by name that selects it.
    pub(crate) fn take(&mut self, event: &Event, clock: Clock) {
        let now = now_of(clock);
        let dispatch = Dispatch::of(event, self.targets.values().map(|at_work| &*at_work.target));
        for (name, at_work) in self.targets.iter_mut().filter(|(_, at_work)| !at_work.awaits_list) {
            match &dispatch {
                Dispatch::Owner(owner, object) if owner == name => {
                    at_work.see(LeanObject::prune(object, &at_work.target.poll_fields), now);
                }
                Dispatch::Owner(_, object) | Dispatch::Nobody(object) => {
                    let uid = Uid::from(object["metadata"]["uid"].as_str().unwrap_or_default());
                    at_work.forget(&uid);
                }
                Dispatch::Listed => {
                    at_work.objects.note_listed(now.moment);
                    self.resources.note_listed(&at_work.target);
                }
                Dispatch::Alive => at_work.objects.note_alive(now.moment),
            }
        }
    }

    /// Gives everybody who is awake what they want.
    pub(crate) fn attend(&mut self, clock: Clock) {
        let now = now_of(clock);
        for Selected { target, uid } in self.resources.take_concerned() {
            if let Some(at_work) = self.targets.get_mut(&*target) {
                let resources = &at_work.resources;
                at_work.objects.appraise_again(&uid, now.moment, |claimant| resources.rights(&uid, &claimant).has);
            }
        }
        for (name, at_work) in &mut self.targets {
            while let Some(uid) = at_work.objects.pop_awake(now.moment) {
                self.tasks.extend(at_work.write_of(name, &uid, clock));
                let due = at_work.objects.state(&uid).and_then(|state| state.poll_due());
                if due.is_some_and(|due| due <= now.moment) {
                    at_work.objects.queue_poll(&uid);
                }
            }
            while let Some(turn) = at_work.objects.next_poll(now.moment) {
                self.tasks.extend(at_work.poll_of(name, &turn, now));
            }
            match at_work.objects.vouched_except(now.moment) {
                Some(except) => {
                    let voucher = Voucher { hash: at_work.target.verdict_hash.clone(), except };
                    self.in_force.insert((*name).to_owned(), voucher);
                }
                None => drop(self.in_force.remove(*name)),
            }
        }
    }

    /// Lets one thing that is under way go one step on.
    pub(crate) fn step(&mut self, index: usize, fault: Fault, scene: &mut Scene<'_>) {
        if self.tasks.is_empty() {
            return;
        }
        let mut task = self.tasks.swap_remove(index % self.tasks.len());
        let at_work = self.targets.get_mut(task.target).filter(|at_work| at_work.text == task.text);
        let now = scene.clock.moment;
        match (task.step, at_work) {
            (Step::Poll { begun, look, request }, Some(at_work)) => {
                let reply = scene.outside.read(&resource_of(&request), fault);
                if fault == Fault::None {
                    let real = scene.outside.resources.get(&resource_of(&request)).map(|real| real.value);
                    // What cannot be read back counts only where it would be sent.
                    let is_sent = !at_work.target.compare.write_only.is_empty();
                    let has_moved = at_work.target.correct.mode == Mode::Correct && is_sent && !look.moved.is_empty();
                    let differs = real != look.view.open()["spec"]["value"].as_i64() || has_moved;
                    scene.ledger.note_read(&task.uid, &begun.basis, differs);
                }
                let (finding, known) = find(&at_work.target, look, reply.as_ref());
                task.step = Step::Answered { begun, finding, known };
                self.tasks.push(task);
            }
            (Step::Answered { begun, finding, known }, Some(at_work)) => {
                at_work.objects.update(&task.uid, now, |state| {
                    if state.finish_poll(begun, finding, now) {
                        state.remember_finding(known);
                    }
                });
            }
            (Step::Write { before, condition }, _) => {
                // What was sent lands even where nobody waits for it any more.
                let (outcome, object) = write(&before, &condition, fault, scene);
                let object = object.map(|object| {
                    let fields = self.targets.get(task.target).map(|at_work| &at_work.target.poll_fields);
                    Box::new(LeanObject::prune(&object, fields.unwrap_or(&Default::default())))
                });
                task.step = Step::Written { outcome, object };
                self.tasks.push(task);
            }
            (Step::Written { outcome, object }, Some(at_work)) => {
                if let Some(object) = object.filter(|_| at_work.objects.state(&task.uid).is_some()) {
                    at_work.see(*object, now_of(scene.clock));
                }
                at_work.objects.update(&task.uid, now, |state| state.finish_write(&outcome, now));
                if outcome == WriteOutcome::Gone {
                    at_work.forget(&task.uid);
                }
            }
            (Step::Poll { .. } | Step::Answered { .. } | Step::Written { .. }, None) => {}
        }
    }

    /// The oldest thing under way that nobody may wait for any longer.
    pub(crate) fn overdue(&self, since: Moment) -> Option<usize> {
        self.tasks.iter().position(|task| task.since < since)
    }

    /// The process ends. What it has sent may land still.
    pub(crate) fn die(self) -> Self {
        let sent = self.tasks.into_iter().filter(|task| matches!(task.step, Step::Write { .. }));
        Self { tasks: sent.map(|task| Task { text: 0, ..task }).collect(), texts: self.texts, ..Self::default() }
    }
}

impl AtWork {
    fn see(&mut self, object: LeanObject, now: Now) {
        let uid = object.id.uid.clone();
        self.objects.see(object, now, |claimant| self.resources.insert(&self.target, &uid, claimant).has);
    }

    fn forget(&mut self, uid: &Uid) {
        self.objects.forget(uid);
        self.resources.remove(&self.target, uid);
    }

    fn write_of(&mut self, name: &'static str, uid: &Uid, clock: Clock) -> Option<Task> {
        let next = self.objects.update(uid, clock.moment, |state| {
            state.notice_silence(clock.moment);
            state.next_write(clock.moment)
        })?;
        let NextWrite::Write(verdict, urgency) = next else {
            self.objects.set_slow_slot(uid, None, clock.moment);
            return None;
        };
        let before = self.objects.state(uid)?.object().clone();
        self.objects.set_slow_slot(uid, None, clock.moment);
        let begin = |state: &mut drift_poller::engine::object::object_state::ObjectState| {
            state.begin_write(&verdict, urgency, clock.moment, &clock.wall())
        };
        let condition = self.objects.update(uid, clock.moment, begin)?.condition;
        let step = Step::Write { before: Box::new(before), condition };
        Some(Task { target: name, text: self.text, uid: uid.clone(), since: clock.moment, step })
    }

    fn poll_of(&mut self, name: &'static str, turn: &PollTurn, now: Now) -> Option<Task> {
        let uid = &turn.uid;
        let state = self.objects.state(uid)?;
        let (view, moved) = (state.object().view.clone(), state.object().conditions.moved_secrets());
        let known = state.known_finding().cloned();
        let begun = self.objects.begin_poll(turn, now)?;
        let read = self.target.read.http()?;
        let step = match read.render(&view.open()) {
            Ok(request) => Step::Poll { begun, look: Look { view, moved, known }, request: Box::new(request) },
            Err(_) => Step::Answered { begun, finding: ObservedReason::RuleError.into(), known: None },
        };
        Some(Task { target: name, text: self.text, uid: uid.clone(), since: now.moment, step })
    }
}

/// What an answer says, as it is judged, which is what is known where the same one was judged before; and what is known
/// afterwards.
fn find(target: &Target, look: Look, reply: Option<&HttpReply>) -> (Finding, Option<KnownFinding>) {
    let Look { view, moved, known } = look;
    let Some(reply) = reply else { return (ObservedReason::PollTimedOut.into(), known) };
    let open = view.open();
    let subject = Subject { moved: &moved, ..Subject::from(&*open) };
    let by_fingerprint = judge(target, (&open, subject), reply, known.as_ref());
    let judged = judge(target, (&open, subject), reply, None);
    assert_eq!(by_fingerprint, judged, "what was found before is found no more");
    let Some((found, answers)) = judged else { return (ObservedReason::ResponseInvalid.into(), None) };
    let known = KnownFinding::new(answers, &found);
    (found.finding, Some(known))
}

/// What an answer says, and the answer's fingerprint.
fn judge(
    target: &Target,
    (open, subject): (&OpenView<'_>, Subject<'_>),
    reply: &HttpReply,
    known: Option<&KnownFinding>,
) -> Option<(Found, Fingerprint)> {
    let mut reading = Reading::new(target.read.http()?, open).knowing(known);
    let Progress::Done(observed) = reading.take(reply) else { return None };
    Some((compare(target, subject, observed.unwrap_or_else(Observation::Failed)), reading.judged()?))
}

/// The patch, and the live read that follows one that found the object moved.
fn write(
    before: &LeanObject,
    condition: &Condition,
    fault: Fault,
    scene: &mut Scene<'_>,
) -> (WriteOutcome, Option<Value>) {
    let base = PatchBase {
        uid: &before.id.uid,
        resource_version: &before.resource_version,
        generation: before.generation,
        conditions: &before.conditions,
    };
    let patch = condition_patch(&base, before.conditions.observed.as_ref(), condition, &StatusFields::NONE);
    let api: &mut ApiServer = scene.api;
    let standing = api.objects.get(&*before.id.name).cloned();
    let written = call(fault, api, |api| api.patch(&before.id.name, &patch, true));
    scene.ledger.note_verdict(before, condition, standing.as_ref(), scene.api);
    match written {
        Ok(object) => (WriteOutcome::Written, Some(object)),
        Err(Refusal::Moved) => (WriteOutcome::Moved, scene.api.read(&before.id.name, &before.id.uid)),
        Err(Refusal::Gone) => (WriteOutcome::Gone, None),
        Err(Refusal::Refused) => (WriteOutcome::Refused("a missing right".to_owned()), None),
        Err(Refusal::Unavailable) => (WriteOutcome::Unavailable, None),
    }
}

fn now_of(clock: Clock) -> Now {
    Now { moment: clock.moment, wall: clock.since_epoch() }
}
