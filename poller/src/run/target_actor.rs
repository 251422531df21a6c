//! Actor of one target: the task that feeds the target's engine with inputs and performs its effects.
//!
//! Each target has its own task, so that no target slows down another. The task decides nothing.

mod reporting;
mod shared_handles;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_kube::object_writer::CONCURRENT_CALLS;
use drift_kube::process::clock;
use drift_kube::{Configuration, ObjectEvent, ObjectWriter};
use drift_language::Target;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::engine::hints::Hint;
use crate::engine::schedule::Now;
use crate::engine::writes::WRITES_AT_ONCE;
use crate::engine::{Effect, Input, Target as Engine};
use crate::run::condition_writes::write;
use crate::run::context::Context;
use crate::run::page::Asked;
use crate::run::reads::poll::{poll, traverse};
use reporting::Reporting;
use shared_handles::SharedHandles;

/// If the loop has not run for this long, liveness fails and the kubelet restarts the Pod. It is far above the time for
/// the largest batch of events.
const STANDSTILL: Duration = Duration::from_secs(60);
/// Maximum watch events or hints in one batch, before polls and writes get their turn.
const EVENTS_AT_ONCE: usize = 256;
/// Maximum ends of reads and writes in one batch. It equals the default concurrency of one host, so that neither a
/// watch nor a stop waits for the responses of a whole target.
const ENDS_AT_ONCE: usize = 16;

/// A single target can use all calls to the API server. With thousands of writes, it delays the writes of others by no
/// more than these.
const _: () = assert!(WRITES_AT_ONCE == CONCURRENT_CALLS);

type Pending = FuturesUnordered<Pin<Box<dyn Future<Output = Input> + Send>>>;

/// Actor of one target.
pub struct TargetActor {
    engine: Engine<SharedHandles>,
    target: Arc<Target>,
    context: Arc<Context>,
    writer: Arc<ObjectWriter>,
    reporting: Reporting,
    /// Reads and writes in progress.
    under_way: Pending,
    /// Queries from the status page.
    questions: mpsc::Receiver<Asked>,
    wake: Moment,
}

impl TargetActor {
    /// Creates an actor without objects.
    #[must_use]
    pub fn new(target: Arc<Target>, context: Arc<Context>, writer: ObjectWriter) -> Self {
        Self {
            engine: Engine::new(target.clone(), SharedHandles::new(&target, &context)),
            reporting: Reporting::new(&target, &context, &writer.kind),
            under_way: FuturesUnordered::new(),
            questions: context.board.join(&target.name),
            wake: Moment::START,
            target,
            context,
            writer: Arc::new(writer),
        }
    }

    /// Runs until `stop` or the end of the watch. Running work is then dropped. A write that was already sent succeeds
    /// only on the state that it was made for.
    pub async fn run(
        mut self,
        mut events: mpsc::Receiver<ObjectEvent>,
        mut hints: mpsc::Receiver<Hint>,
        stop: CancellationToken,
    ) {
        let (mut batch, mut hinted) = (Vec::with_capacity(EVENTS_AT_ONCE), Vec::new());
        let name = format!("target {}", self.target.name);
        let heartbeat = self.context.health.heartbeat(name, STANDSTILL, clock::now());
        let mut configuration = self.context.configuration.clone();
        self.note_state(&configuration.borrow_and_update().clone());
        loop {
            heartbeat.tick(clock::now());
            self.step(Input::Tick);
            self.reporting.show_attested();
            let wake = clock::instant_of(self.wake);
            tokio::select! {
                () = stop.cancelled() => break,
                Ok(()) = configuration.changed() => self.note_state(&configuration.borrow_and_update().clone()),
                Some(end) = self.under_way.next(), if !self.under_way.is_empty() => self.take_ends(end),
                count = events.recv_many(&mut batch, EVENTS_AT_ONCE) => match count {
                    0 => break,
                    _ => batch.drain(..).for_each(|event| self.step(input_of(event))),
                },
                1.. = hints.recv_many(&mut hinted, EVENTS_AT_ONCE) => {
                    hinted.drain(..).for_each(|hint| self.step(Input::Hint(hint)));
                }
                Some(asked) = self.questions.recv() => {
                    asked.answer_with(|question| self.engine.overview(question, now()));
                }
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    fn note_state(&mut self, configuration: &Configuration) {
        let state = configuration.state_of(&self.target.name);
        self.step(Input::StateChanged { state, polled_for: self.context.patience });
    }

    /// Takes in one end of work and some others that arrived with it. Work that begins in one tick ends together, and
    /// polling the other inputs between two ends costs as much as processing one.
    fn take_ends(&mut self, first: Input) {
        self.step(first);
        for _ in 1..ENDS_AT_ONCE {
            // Polled without its own waker, because the actor polls again before it sleeps.
            let Some(Some(next)) = self.under_way.next().now_or_never() else { break };
            self.step(next);
        }
    }

    fn step(&mut self, input: Input) {
        let now = now();
        for effect in self.engine.step(now, input) {
            self.perform(effect, now);
        }
    }

    fn perform(&mut self, effect: Effect, now: Now) {
        match effect {
            Effect::Poll(order) => {
                let (context, target) = (self.context.clone(), self.target.clone());
                self.begin(async move { Input::PollEnded(Box::new(poll(&context.outside, &target, *order).await)) });
            }
            Effect::Traverse(order) => {
                let (context, target, rate) =
                    (self.context.clone(), self.target.clone(), self.engine.shared.read_rate());
                self.begin(
                    async move { Input::TraversalEnded(traverse(&context.outside, &target, &rate, order).await) },
                );
            }
            Effect::Write(update) => {
                let (writer, target) = (self.writer.clone(), self.target.clone());
                self.begin(async move { Input::WriteEnded(Box::new(write(&writer, &target.name, *update).await)) });
            }
            Effect::ReadAnew(known) => {
                let (writer, target) = (self.writer.clone(), self.target.clone());
                self.begin(async move { Input::ReadAnew(writer.read_anew(&target.name, &known).await.map(Box::new)) });
            }
            Effect::Attest(attestation) => self.context.attestations.set(&self.target, attestation),
            Effect::Unwritten(unwritten) => self.context.attestations.set_unwritten(&self.target.name, unwritten),
            Effect::Report(report) => self.reporting.tell(report, &self.engine, now),
            Effect::WakeAt(moment) => self.wake = moment,
        }
    }

    fn begin(&mut self, work: impl Future<Output = Input> + Send + 'static) {
        self.under_way.push(Box::pin(work));
    }
}

impl Drop for TargetActor {
    /// Removes the target's attestation, also after a panic.
    fn drop(&mut self) {
        self.context.attestations.set(&self.target, None);
        self.context.attestations.set_unwritten(&self.target.name, None);
        self.context.unnamed.forget(&self.target.name);
        self.context.outside.databases.forget(&self.target.name);
        self.reporting.show_attested();
    }
}

/// Converts an event of the watch into an input.
#[must_use]
pub fn input_of(event: ObjectEvent) -> Input {
    match event {
        ObjectEvent::Seen(object) => Input::Seen(object),
        ObjectEvent::Reported(uid, report) => Input::Reported(uid, report),
        ObjectEvent::Left(uid) => Input::Left(uid),
        ObjectEvent::Skipped(object) => Input::Skipped(object),
        ObjectEvent::Listed => Input::Listed,
        ObjectEvent::Alive { since } => Input::Alive { since },
    }
}

fn now() -> Now {
    Now { moment: clock::now(), wall: clock::wall_since_epoch() }
}
