//! One target at work: a single task that watches its objects, has each decided, and has the decisions carried out.
//!
//! Each target has a task of its own, so that none can slow or stop another. It carries things between the core, which
//! decides, and the executor, which does; it must not decide anything itself.

mod housekeeping;
mod scope_wait;
mod supervision;
mod watching;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use drift_api::collections::fifo::Fifo;
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_api::timing::work_queue::WorkQueue;
use drift_api::voucher::Voucher;
use drift_kube::identities::Member;
use drift_kube::process::clock;
use drift_kube::subscriptions::ObjectEvent;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::core::decision::Decision;
use crate::core::deletions::Deletions;
use crate::core::facts::TargetFacts;
use crate::core::held::Held;
use crate::core::holdings::holdings;
use crate::core::limits::Room;
use crate::core::lines::Lines;
use crate::core::memory::ObjectMemory;
use crate::core::roster::{Around, Handover, Roster};
use crate::executor::{Executor, Question};
use crate::held_counts::HeldCounts;
use crate::held_objects::Asked;
use crate::metrics::of_target;
use crate::secrets::Look;
use scope_wait::ScopeWait;
use supervision::{Report, Underway, Unreadable};

/// How often the actor looks at itself where nothing happens: vouching that grew old.
const HOUSEKEEPING: Duration = Duration::from_secs(5);
/// How often it looks for a changed Secret while a correction could not be sent: who mends one watches what comes of it.
const LOOK_AT_SECRETS: Duration = Duration::from_secs(1);
/// An actor that has not turned for this long hangs, and the kubelet starts the program anew: twelve housekeepings, far
/// above what the largest batch of events takes.
const STANDSTILL: Duration = Duration::from_secs(60);
/// When to look again at an object that could not be read, written or got hold of just now.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Executions of one target at once that are no correction, and so wait for nothing but the API server. A target with
/// thousands of finalizers to put on stands before the others at the API server with no more than these; a quarter of
/// all calls keeps it busy by itself.
const WRITES_AT_ONCE: usize = 8;
/// Watch events taken in before others get their turn again.
const EVENTS_AT_ONCE: usize = 256;

/// One target at work.
pub struct TargetActor {
    name: Arc<str>,
    executor: Executor,
    context: Arc<Context>,
    roster: Roster,
    identities: Member,
    /// Memories from before the target's last edit, of objects that were not seen again yet.
    memories: HashMap<Uid, ObjectMemory>,
    reports: mpsc::UnboundedSender<Report>,
    inbox: mpsc::UnboundedReceiver<Report>,
    questions: mpsc::UnboundedSender<Question>,
    asked: mpsc::UnboundedReceiver<Question>,
    stalls: mpsc::UnboundedSender<(Uid, Option<Held>)>,
    stalled: mpsc::UnboundedReceiver<(Uid, Option<Held>)>,
    /// To be decided.
    queue: WorkQueue,
    /// To be decided when the target's limits allow.
    limited: Lines,
    /// To be decided when fewer writes are under way.
    crowded: Fifo,
    under_way: HashMap<Uid, Underway>,
    unreadable: Unreadable,
    /// Cancelled when the actor ends.
    superseded: CancellationToken,
    /// Deletions that wait for this program.
    deletions: Deletions,
    /// Objects whose held deletion was told.
    told_deletions: HashSet<Uid>,
    scope_wait: ScopeWait,
    held_counts: HeldCounts,
    /// From people who ask what is held.
    holdings: mpsc::Receiver<Asked>,
    /// The Secrets when everybody was decided last.
    secrets: Look,
    /// The poller's word for the target when everybody was decided last.
    last_word: Option<Voucher>,
    /// When what delays nothing any more was last given back.
    room_given_back: Moment,
}

impl TargetActor {
    /// An actor that has seen nothing yet; `handover` is what the one before the target's last edit left.
    #[must_use]
    pub fn new(executor: Executor, context: Arc<Context>, handover: Handover) -> Self {
        let (roster, memories) = Roster::new(TargetFacts::of(&executor.target), handover);
        let (reports, inbox) = mpsc::unbounded_channel();
        let (questions, asked) = mpsc::unbounded_channel();
        let (stalls, stalled) = mpsc::unbounded_channel();
        let name = Arc::<str>::from(executor.target.name.as_str());
        Self {
            name,
            identities: context.identities.join(&executor.target),
            held_counts: HeldCounts::new(&executor.target.name, context.metrics.clone()),
            holdings: context.board.join(&executor.target.name),
            executor,
            context,
            roster,
            memories,
            reports,
            inbox,
            questions,
            asked,
            stalls,
            stalled,
            queue: WorkQueue::default(),
            limited: Lines::default(),
            crowded: Fifo::default(),
            under_way: HashMap::new(),
            unreadable: Unreadable::default(),
            superseded: CancellationToken::new(),
            deletions: Deletions::default(),
            told_deletions: HashSet::new(),
            scope_wait: ScopeWait::default(),
            secrets: Look::default(),
            last_word: None,
            room_given_back: clock::now(),
        }
    }

    /// A person edited the limits: what stands now may pass the breaker.
    pub fn let_pass(&mut self) {
        if let Some(transition) = self.roster.let_pass() {
            self.executor.announcer.breaker(transition);
        }
    }

    /// Works until it is stopped or the watch ends. What is under way then goes on to its end.
    pub async fn run(mut self, mut events: mpsc::Receiver<ObjectEvent>, stop: CancellationToken) -> Handover {
        self.show_breaker();
        let mut housekeeping = tokio::time::interval(HOUSEKEEPING);
        let mut secrets = tokio::time::interval(LOOK_AT_SECRETS);
        secrets.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut vouching = self.context.vouching.clone();
        let mut batch = Vec::with_capacity(EVENTS_AT_ONCE);
        let heartbeat = self.context.health.heartbeat(format!("target {}", self.name), STANDSTILL, clock::now());
        loop {
            heartbeat.tick(clock::now());
            self.attend();
            let wake = clock::instant_of(self.next_wake());
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(report) = self.inbox.recv() => self.take_report(report),
                Some(question) = self.asked.recv() => self.take_question(question),
                Some((uid, held)) = self.stalled.recv() => self.take_stall(&uid, held),
                Some(asked) = self.holdings.recv() => self.answer(asked),
                count = events.recv_many(&mut batch, EVENTS_AT_ONCE) => match count {
                    0 => break,
                    _ => batch.drain(..).for_each(|event| self.take_event(event)),
                },
                Ok(()) = vouching.changed() => self.note_vouching(),
                wake = self.identities.next_wake() => self.take_wake(wake),
                _ = housekeeping.tick() => self.housekeep(),
                _ = secrets.tick(), if self.lacks_something_to_send() => self.note_secrets(),
                () = tokio::time::sleep_until(wake) => {}
            }
        }
        self.end()
    }

    fn end(self) -> Handover {
        self.superseded.cancel();
        let metrics = &self.context.metrics;
        for gauge in [&metrics.vouched, &metrics.breaker_open, &metrics.objects_deleting, &metrics.deletion_age] {
            gauge.get_or_create(&of_target(&self.name)).set(0);
        }
        self.roster.into_handover(self.memories)
    }

    fn next_wake(&self) -> Moment {
        let now = clock::now();
        let limited = self.limited.iter().find_map(|line| match self.roster.room(line, now) {
            Room::From(until) => Some(until),
            Room::Free | Room::AfterAnEnd => None,
        });
        let wakes = [self.queue.next_at(now), limited];
        wakes.into_iter().flatten().min().unwrap_or(now + HOUSEKEEPING)
    }

    /// Has everybody decided whose turn it is, and whoever waits for the limits or the API server as far as they allow.
    fn attend(&mut self) {
        let now = clock::now();
        self.attend_breaker(now);
        loop {
            while let Some(uid) = self.queue.next(now) {
                self.attend_object(&uid, now);
            }
            let limited = self.limited.call_next(|line| self.roster.room(line, now) == Room::Free);
            let crowded = if self.writes_under_way() < WRITES_AT_ONCE { self.crowded.call_next() } else { None };
            if limited.is_none() && crowded.is_none() {
                return;
            }
            limited.iter().chain(&crowded).for_each(|uid| self.queue.add(uid));
        }
    }

    fn attend_object(&mut self, uid: &Uid, now: Moment) {
        let begun = match self.decide(uid, now) {
            Some(decision) => self.begin(uid, decision, now),
            None => false,
        };
        if !begun {
            self.queue.done(uid);
        }
    }

    /// Decides for an object; gives what is to be done, if anything, and sees to it that it is decided again in time.
    fn decide(&mut self, uid: &Uid, now: Moment) -> Option<Decision> {
        let around = self.around(uid, now);
        let decision = self.roster.decide(uid, around, now)?;
        let held = match decision {
            Decision::Nothing(why) => Some(why),
            // The line knows itself when there is room again.
            Decision::Wait { why: Held::Limited, .. } => Some(Held::Limited),
            Decision::Wait { until, why } => {
                self.queue.add_after(uid, until);
                Some(why)
            }
            _ => None,
        };
        if held == Some(Held::Limited) {
            self.limited.join(self.roster.line(uid), uid);
        }
        let before = self.held_counts.set(uid, held);
        // A hold that was known before keeps a finalizer only from the deletion on, and is told once more then.
        let is_deletion_news = held.is_some()
            && self.roster.object(uid).is_some_and(|object| object.deleting)
            && self.told_deletions.insert(uid.clone());
        if before != held || is_deletion_news {
            self.tell_of_holding(uid, held);
        }
        held.is_none().then_some(decision)
    }

    fn answer(&self, asked: Asked) {
        let object = |uid: &Uid| Some((&self.roster.object(uid)?.id, self.queue.due_at(uid)));
        asked.answer_with(|question| holdings(&self.name, self.held_counts.all(), object, question));
    }

    pub(super) fn add_all<'a>(&mut self, uids: impl IntoIterator<Item = &'a Uid>) {
        uids.into_iter().for_each(|uid| self.queue.add(uid));
    }

    fn tell_of_holding(&self, uid: &Uid, held: Option<Held>) {
        let (Some(object), Some(why)) = (self.roster.object(uid), held) else { return };
        let kind = &self.executor.writer.kind;
        match why {
            Held::Suspended | Held::Paused | Held::NotAllowed | Held::TemplateFails if object.deleting => {
                self.executor.announcer.deletion_held(kind, object, why);
            }
            _ => {}
        }
    }

    fn around(&self, uid: &Uid, now: Moment) -> Around {
        let target = &self.executor.target;
        let text = (&*target.name, &*target.verdict_hash);
        let is_vouched = |object: &LeanObject| self.context.vouching.borrow().vouches_for(&object.id, text, now);
        let vouched = self.roster.object(uid).is_some_and(is_vouched);
        let claimant = self.roster.claimant(uid);
        // Asked before the rights: which claims are void is known as soon as the scope is complete.
        let scope_complete = self.identities.is_scope_complete();
        let rights = claimant.map(|claimant| self.identities.rights(uid, &claimant)).unwrap_or_default();
        let secrets = self.roster.object(uid).and_then(|object| self.executor.secrets.watched(target, object));
        Around { vouched, rights, scope_complete, secrets }
    }

    fn word(&self, now: Moment) -> Option<Voucher> {
        let target = &self.executor.target;
        self.context.vouching.borrow().word_for(&target.name, &target.verdict_hash, now).cloned()
    }
}
