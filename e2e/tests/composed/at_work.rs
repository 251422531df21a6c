//! One target at work in the controller's step machine: its roster, its queue, and what an execution gives back.
//!
//! It carries things between the core and the executions and decides nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;
use drift_api::timing::work_queue::WorkQueue;
use drift_controller::core::decision::Decision;
use drift_controller::core::execution::ExecutionEnd;
use drift_controller::core::facts::{ObjectFacts, TargetFacts};
use drift_controller::core::held::Held;
use drift_controller::core::limits::Place;
use drift_controller::core::memory::ObjectMemory;
use drift_controller::core::roster::{Around, Handover, Roster, claimant_of};
use drift_controller::core::secrets::{Known, watched_marks};
use drift_controller::core::vouching::Vouching;
use drift_language::Target;
use drift_poller::core::deletion::{Ending, ending_of};

use crate::act::Acting;
use crate::resources::Resources;
use crate::targets::{Text, secrets};

/// When to look again at an object that could not be written.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// One target at work.
pub(crate) struct AtWork {
    pub(crate) target: Arc<Target>,
    pub(crate) text: Text,
    pub(crate) roster: Roster,
    resources: Resources,
    /// Its list cannot be read yet, so that it hears of nothing.
    pub(crate) awaits_list: bool,
    pub(crate) memories: HashMap<Uid, ObjectMemory>,
    pub(crate) queue: WorkQueue,
    pub(crate) limited: BTreeSet<Uid>,
    pub(crate) unreadable: HashMap<Uid, Backoff>,
    /// The version of the Secret that corrections send; `None` where it is missing.
    pub(crate) secret: Option<u32>,
    /// Which of the target's texts; what an earlier one began is not its own.
    pub(crate) number: u64,
}

/// What is under way for one object.
pub(crate) struct Task {
    pub(crate) target: &'static str,
    pub(crate) text: u64,
    pub(crate) uid: Uid,
    pub(crate) since: Moment,
    pub(crate) acting: Acting,
    /// Its part of the target's limits, from before the live read.
    pub(crate) reserved: Option<Place>,
    /// Its part of the target's limits, once the correction counts as begun.
    pub(crate) begun: Option<Place>,
}

impl AtWork {
    /// Begins with what the target's former text left.
    pub(crate) fn new(
        target: &Arc<Target>,
        text: Text,
        (handover, resources): (Handover, Resources),
        number: u64,
    ) -> Self {
        let (roster, memories) = Roster::new(TargetFacts::of(target), handover);
        Self {
            target: target.clone(),
            text,
            roster,
            resources,
            awaits_list: false,
            secret: Some(0),
            memories,
            queue: WorkQueue::default(),
            limited: BTreeSet::new(),
            unreadable: HashMap::new(),
            number,
        }
    }

    pub(crate) fn add_all(&mut self) {
        let uids: Vec<Uid> = self.roster.uids().cloned().collect();
        uids.iter().for_each(|uid| self.queue.add(uid));
    }

    pub(crate) fn see(&mut self, object: LeanObject, now: Moment) {
        let facts = ObjectFacts::of(&self.target, &object);
        let memory = self.memories.remove(&object.id.uid);
        let uid = object.id.uid.clone();
        if self.roster.see(object, facts, memory, now) {
            self.contend(&uid);
            self.queue.add(&uid);
        }
    }

    /// Takes in an object that is only looked at: it wants its external resource too.
    pub(crate) fn see_only(&mut self, object: &LeanObject, now: Moment) {
        self.drop_known(&object.id.uid);
        let facts = ObjectFacts::of(&self.target, object);
        let memory = ObjectMemory::of(object, now);
        let claimant = claimant_of(&TargetFacts::of(&self.target), object, &facts, &memory);
        self.resources.insert(&self.target, &object.id.uid, claimant);
    }

    fn contend(&self, uid: &Uid) {
        if let Some(claimant) = self.roster.claimant(uid) {
            self.resources.insert(&self.target, uid, claimant);
        }
    }

    /// Whether the object has what it is to claim; if so it claims it from now on.
    fn claim(&mut self, uid: &Uid) -> bool {
        let has = self.roster.claimant(uid).is_some_and(|claimant| self.resources.rights(uid, &claimant).has);
        self.roster.set_claiming(uid, has);
        self.contend(uid);
        has
    }

    pub(crate) fn forget(&mut self, uid: &Uid) {
        self.drop_known(uid);
        self.resources.remove(&self.target, uid);
    }

    fn drop_known(&mut self, uid: &Uid) {
        self.queue.remove(uid);
        self.roster.forget(uid);
    }

    fn decide(&mut self, uid: &Uid, vouching: &Vouching, now: Moment) -> Option<Decision> {
        let id = &self.roster.object(uid)?.id;
        let vouched = vouching.vouches_for(id, (&self.target.name, &self.target.verdict_hash), now);
        let rights = self.resources.rights(uid, &self.roster.claimant(uid)?);
        let (own, beside) = (secrets(self.secret), LabelledSecrets::from_iter([]));
        let object = self.roster.object(uid)?;
        let secrets = watched_marks(&self.target, object, Known { own: &own, beside: &beside });
        let around = Around { vouched, rights, scope_complete: self.resources.is_complete(), secrets };
        let knows_more = rights.shared || rights.claim_void || self.knows_more_of_deletion(uid);
        let decision = self.roster.decide(uid, around, now)?;
        self.compare_endings(self.roster.object(uid)?, &decision, knows_more);
        match decision {
            Decision::Nothing(Held::Limited) | Decision::Wait { why: Held::Limited, .. } => {
                self.limited.insert(uid.clone());
                None
            }
            Decision::Nothing(_) => None,
            Decision::Wait { until, .. } => {
                self.queue.add_after(uid, until);
                None
            }
            decision => Some(decision),
        }
    }

    /// Whether the controller remembers what nobody can read on the object: another writer's work, or that every step was skipped.
    fn knows_more_of_deletion(&mut self, uid: &Uid) -> bool {
        let Some(object) = self.roster.object(uid).cloned() else { return false };
        self.roster.memory(uid).is_some_and(|memory| memory.deletion_skipped || memory.lost_status(&object).is_some())
    }

    /// What the poller's commands tell of a deletion is what the controller decides, unless it `knows_more`.
    fn compare_endings(&self, object: &LeanObject, decision: &Decision, knows_more: bool) {
        let ending = Some(ending_of(&self.target, object)).filter(|_| object.deleting);
        let agree = match (&ending, decision) {
            (Some(Ending::NotHeldByUs), Decision::Correct(_) | Decision::ReleaseFinalizer { .. }) => false,
            // Another object had it when that was judged, and may be gone; or another writer took the note away, which this process knows.
            (Some(Ending::LeftBehind(why)), Decision::Correct(correction)) => {
                let note = object.conditions.correction_status().in_scope(self.target.scope.id);
                why.contains("IdentityTaken") || correction.before.claim != note.claim
            }
            (Some(Ending::Deleted), Decision::ReleaseFinalizer { left_behind: true }) => knows_more,
            _ => true,
        };
        assert!(agree, "{}: told {ending:?}, decided {decision:?}", object.id);
    }

    /// Decides, and begins to carry out what is to be done, if anything.
    pub(crate) fn begin(
        &mut self,
        uid: &Uid,
        busy: bool,
        vouching: &Vouching,
        now: Moment,
    ) -> Option<(Acting, Option<Place>)> {
        let decision = self.decide(uid, vouching, now)?;
        let unreadable = self.unreadable.get(uid).map_or(Moment::START, Backoff::ready_at);
        if busy || now < unreadable {
            self.queue.add_after(uid, unreadable.max(now + LOOK_AGAIN));
            return None;
        }
        let object = self.roster.object(uid)?.clone();
        let reserved = matches!(decision, Decision::Correct(_)).then(|| {
            let line = self.roster.line(uid);
            self.roster.pace.begin(&line, now)
        });
        Some((Acting::begin(&self.target, self.text, object, decision), reserved))
    }

    /// Decides again, on the very state that will be acted on: the watch may know a newer one than was read.
    pub(crate) fn decide_anew(
        &mut self,
        task: &mut Task,
        vouching: &Vouching,
        now: Moment,
    ) -> Option<(LeanObject, Decision)> {
        if let Some(place) = task.reserved.take() {
            self.roster.pace.call_off(place);
        }
        let uid = &task.uid;
        self.unreadable.remove(uid);
        self.roster.object(uid)?;
        self.see(task.acting.object().clone(), now);
        let decision = self.decide(uid, vouching, now)?;
        if matches!(&decision, Decision::Correct(correction) if correction.claim_first) && !self.claim(uid) {
            self.queue.add(uid);
            return None;
        }
        task.begun = matches!(decision, Decision::Correct(_)).then(|| self.roster.begin(uid, now));
        self.resources.hold(uid, self.roster.claimant(uid).filter(|_| task.begun.is_some()));
        Some((self.roster.object(uid)?.clone(), decision))
    }

    pub(crate) fn end(&mut self, task: Task, end: &ExecutionEnd, now: Moment) {
        let Task { uid, acting, reserved, begun, .. } = task;
        let has_begun = begun.is_some();
        for place in reserved.into_iter().chain(begun.filter(|_| end.sent_nothing())) {
            self.roster.pace.call_off(place);
        }
        if let Some(memory) = self.roster.memory(&uid) {
            end.remember(memory, has_begun, now);
        }
        if self.roster.object(&uid).is_some() {
            self.look_after(acting.object().clone(), end, now);
        }
        self.roster.set_claiming(&uid, false);
        self.contend(&uid);
        self.queue.done(&uid);
    }

    fn look_after(&mut self, object: LeanObject, end: &ExecutionEnd, now: Moment) {
        let uid = object.id.uid.clone();
        match end {
            ExecutionEnd::Gone => return self.forget(&uid),
            ExecutionEnd::Nothing => return,
            ExecutionEnd::Lost | ExecutionEnd::CalledOff => self.queue.add_after(&uid, now + LOOK_AGAIN),
            ExecutionEnd::Postponed(until) => self.queue.add_after(&uid, *until),
            ExecutionEnd::PutOff(pause) => self.queue.add_after(&uid, now + *pause),
            ExecutionEnd::Unread(_) => {
                let backoff = self.unreadable.entry(uid.clone());
                let backoff = backoff.or_insert_with(|| Backoff::new(Series::API_UNAVAILABLE));
                backoff.fail(now);
                let ready_at = backoff.ready_at();
                return self.queue.add_after(&uid, ready_at);
            }
            ExecutionEnd::Written(_)
            | ExecutionEnd::Patched
            | ExecutionEnd::Corrected { .. }
            | ExecutionEnd::Refused { .. } => {
                self.queue.add(&uid);
            }
        }
        let known = self.roster.object(&uid).map(|known| &known.resource_version);
        if known != Some(&object.resource_version) {
            self.see(object, now);
        }
    }
}
