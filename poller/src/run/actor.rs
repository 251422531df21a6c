//! One target at work: a single task that watches its objects, polls them, and writes what is believed.
//!
//! Each target has a task of its own, so that none can slow or stop another. It only carries things between the
//! core, which decides, and the shell, which does; it must not decide anything itself.

mod hinted;
mod housekeeping;
mod polls;
mod traversals;
mod writes;

use std::collections::{BTreeSet, HashSet};
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;
use drift_kube::identities::{Member, Wake};
use drift_kube::object_writer::ObjectWriter;
use drift_kube::process::clock;
use drift_kube::subscriptions::ObjectEvent;
use drift_kube::telemetry::health::Remark;
use drift_language::Target;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::engine::collection::traversals::Traversals;
use crate::engine::hints::{Hint, Hints};
use crate::engine::object::object_state::{NextWrite, ObjectState};
use crate::engine::object::object_store::ObjectStore;
use crate::engine::schedule::{Now, tick_of};
use crate::run::context::Context;
use crate::run::counts::TargetCounts;
use crate::run::metrics::of_target;
use crate::run::page::Asked;
use crate::run::reads::poll::PollResults;
use crate::run::reads::shared_rate::SharedRate;
use crate::run::write::WriteResult;

/// How often the actor looks at itself where nothing happens: the age of its watches, and the count of its objects.
const HOUSEKEEPING: Duration = Duration::from_secs(5);
/// An actor that has not turned for this long hangs, and the kubelet starts the program anew: twelve housekeepings, far
/// above what the largest batch of events takes.
const STANDSTILL: Duration = Duration::from_secs(60);
/// Watch events taken in before polls and writes get their turn again.
const EVENTS_AT_ONCE: usize = 256;

type Pending<T> = FuturesUnordered<Pin<Box<dyn Future<Output = T> + Send>>>;

/// One target at work.
pub struct TargetActor {
    target: Arc<Target>,
    context: Arc<Context>,
    writer: ObjectWriter,
    objects: ObjectStore,
    identities: Member,
    read_rate: SharedRate,
    polls: Pending<PollResults>,
    /// Of a collection, by their requests.
    traversals: Traversals,
    hints: Hints,
    writes: Pending<WriteResult>,
    /// Live reads of objects that a list showed older than they are known.
    reads: Pending<Option<LeanObject>>,
    counts: TargetCounts,
    /// Shows whether the target is vouched for.
    vouched: Gauge,
    /// From people who look at the page.
    questions: mpsc::Receiver<Asked>,
    /// Objects that another target, first by name, has.
    skipped: HashSet<Uid>,
    /// Namespaces that are not vouched for as a whole, and the line in `/readyz` that says so.
    crowded: Option<(BTreeSet<String>, Remark)>,
}

impl TargetActor {
    /// An actor that has seen nothing yet.
    #[must_use]
    pub fn new(target: Arc<Target>, context: Arc<Context>, writer: ObjectWriter) -> Self {
        Self {
            objects: ObjectStore::new(target.clone()),
            identities: context.identities.join(&target),
            read_rate: SharedRate::per_second(target.read.limits.per_second),
            polls: FuturesUnordered::new(),
            traversals: Traversals::default(),
            hints: Hints::of(&target),
            writes: FuturesUnordered::new(),
            reads: FuturesUnordered::new(),
            counts: TargetCounts::new(&target.name, context.metrics.clone()),
            vouched: context.metrics.vouched.get_or_create_owned(&of_target(&target.name)),
            questions: context.board.join(&target.name),
            skipped: HashSet::new(),
            crowded: None,
            target,
            context,
            writer,
        }
    }

    /// Works until it is stopped or the watch ends. What is under way then is dropped; a write that was sent already lands
    /// only on the very state it was made for.
    pub async fn run(
        mut self,
        mut events: mpsc::Receiver<ObjectEvent>,
        mut hints: mpsc::Receiver<Hint>,
        stop: CancellationToken,
    ) {
        let mut housekeeping = tokio::time::interval(HOUSEKEEPING);
        let mut batch = Vec::with_capacity(EVENTS_AT_ONCE);
        let name = format!("target {}", self.target.name);
        let heartbeat = self.context.health.heartbeat(name, STANDSTILL, clock::now());
        loop {
            heartbeat.tick(clock::now());
            self.attend();
            let wake = clock::instant_of(self.next_wake());
            tokio::select! {
                () = stop.cancelled() => break,
                Some(results) = self.polls.next(), if !self.polls.is_empty() => self.take_ended_polls(results),
                Some(result) = self.writes.next(), if !self.writes.is_empty() => self.take_write(result),
                Some(live) = self.reads.next(), if !self.reads.is_empty() => self.take_read(live),
                count = events.recv_many(&mut batch, EVENTS_AT_ONCE) => match count {
                    0 => break,
                    _ => batch.drain(..).for_each(|event| self.take_event(event)),
                },
                Some(hint) = hints.recv() => self.take_hints(hint, &mut hints),
                wake = self.identities.next_wake() => self.take_wake(wake),
                Some(asked) = self.questions.recv() => self.answer(asked),
                () = tokio::time::sleep_until(wake) => {}
                _ = housekeeping.tick() => self.housekeep(),
            }
        }
    }

    /// Gives everybody who is awake what they want, as far as the limits allow.
    fn attend(&mut self) {
        let now = clock::now();
        while let Some(uid) = self.objects.pop_awake(now) {
            self.attend_object(&uid, now);
        }
        while self.has_free_hand() {
            let Some(uid) = self.objects.next_write() else { break };
            self.attend_object(&uid, now);
        }
        self.begin_polls();
        self.vouch(now);
    }

    fn attend_object(&mut self, uid: &Uid, now: Moment) {
        let updated = self.objects.update(uid, now, |state| {
            state.notice_silence(now);
            (state.next_write(now), state.flapping_is_news())
        });
        let Some((next, flapping_is_news)) = updated else { return };
        if flapping_is_news {
            self.tell_of_flapping(uid);
        }
        if self.objects.state(uid).and_then(|state| state.poll_due()).is_some_and(|due| due <= now) {
            self.objects.queue_poll(uid);
        }
        match next {
            NextWrite::Write(verdict, urgency) if self.may_go(uid, urgency, now) => {
                if self.has_free_hand() {
                    self.begin_write(uid, &verdict, urgency, now);
                } else {
                    self.objects.queue_write(uid, now);
                }
            }
            // An urgency that fell away takes its slow slot with it, so that the next outage reserves a new one.
            NextWrite::Nothing | NextWrite::NotBefore(_) => self.leave_slow_lane(uid, now),
            NextWrite::Write(..) => {}
        }
    }

    fn forget(&mut self, uid: &Uid, now: Moment) {
        self.leave_slow_lane(uid, now);
        self.objects.forget(uid);
        self.traversals.forget(uid);
        self.hints.forget(uid);
        let concerned = self.identities.remove(uid);
        self.appraise_again(&concerned, now);
    }

    fn see(&mut self, object: LeanObject, now: Now) {
        let (uid, mut concerned) = (object.id.uid.clone(), Vec::new());
        self.objects.see(object, now, |claimant| {
            concerned = self.identities.insert(&uid, claimant.clone());
            self.identities.rights(&uid, &claimant).has
        });
        self.hints.note_object(&mut self.objects, &uid, now.moment);
        self.appraise_again(&concerned, now.moment);
    }

    fn appraise_again(&mut self, uids: &[Uid], now: Moment) {
        for uid in uids {
            self.objects.appraise_again(uid, now, |claimant| self.identities.rights(uid, &claimant).has);
        }
    }

    fn take_wake(&mut self, wake: Wake) {
        if let Wake::Object(uid) = wake {
            self.appraise_again(&[uid], clock::now());
        }
    }

    fn take_event(&mut self, event: ObjectEvent) {
        let now = read_clock();
        match event {
            ObjectEvent::Seen(object) => self.take_seen(*object, now),
            ObjectEvent::Left(uid) => {
                self.skipped.remove(&uid);
                self.forget(&uid, now.moment);
            }
            ObjectEvent::Skipped(object) => self.skip(&object.id, now),
            ObjectEvent::Listed => {
                self.objects.note_listed(now.moment);
                self.hints.note_listed(&mut self.objects, now.moment);
                self.identities.note_listed();
            }
            ObjectEvent::Alive { since } => self.objects.note_alive(since),
        }
    }

    fn take_seen(&mut self, object: LeanObject, now: Now) {
        let known = self.objects.state(&object.id.uid).map(ObjectState::object);
        if let Some(known) = known.filter(|known| object.is_listed_before(known)).cloned() {
            let writer = self.writer.clone();
            self.reads.push(Box::pin(async move { writer.read_anew(&known).await }));
            return;
        }
        self.skipped.remove(&object.id.uid);
        self.see(object, now);
    }

    /// An object that a target before us by name selects too is that target's.
    fn skip(&mut self, object: &ObjectId, now: Now) {
        self.forget(&object.uid, now.moment);
        self.skipped.insert(object.uid.clone());
        crate::run::notices::tell_of_overlap(&self.context.events, &self.target, &self.writer.kind, object);
    }

    /// An object that left meanwhile stays forgotten.
    fn take_read(&mut self, live: Option<LeanObject>) {
        if let Some(live) = live.filter(|live| self.objects.state(&live.id.uid).is_some()) {
            self.take_seen(live, read_clock());
        }
    }

    fn next_wake(&self) -> Moment {
        let now = clock::now();
        let poll = (self.objects.has_waiting_polls() && self.polls.len() < self.target.read.limits.concurrent as usize)
            .then(|| self.read_rate.available_at(now));
        let wakes = [self.objects.next_wake(), poll];
        wakes.into_iter().flatten().min().unwrap_or(now + HOUSEKEEPING).rounded_up(tick_of(self.target.interval))
    }
}

impl Drop for TargetActor {
    /// However it ends, by a panic too: nobody vouches for the target any more, and its places in the slow lane are
    /// others'.
    fn drop(&mut self) {
        let mut lane = self.context.slow_lane.lock().unwrap_or_else(PoisonError::into_inner);
        self.objects.slow_slots().for_each(|slot| lane.give_back(slot));
        drop(lane);
        self.context.in_force.set(&self.target.name, None);
        self.context.unnamed.forget(&self.target.name);
        self.context.outside.databases.forget(&self.target.name);
        self.vouched.set(0);
    }
}

/// Both clocks at one instant.
fn read_clock() -> Now {
    Now { moment: clock::now(), wall: clock::wall_since_epoch() }
}
