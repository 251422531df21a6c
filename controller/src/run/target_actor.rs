//! Actor of one target: a task that feeds the target's engine with inputs and performs its effects.
//!
//! Each target has its own task, so that no target slows down another. The task decides nothing.

mod correction_reports;
mod reporting;
mod shared_handles;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_kube::process::{clock, tasks};
use drift_kube::{Configuration, ObjectEvent, Wake};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::engine::objects::object_store::Handover;
use crate::engine::{Effect, Input, Now, Report, Target};
use crate::run::context::Context;
use crate::run::executor::{Executor, Work};
use shared_handles::SharedHandles;

/// If the loop has not run for this long, liveness fails and the kubelet restarts the Pod. It is far above the time for
/// the largest batch of events.
const STANDSTILL: Duration = Duration::from_secs(60);
/// Maximum watch events in one batch, so that other inputs get their turn.
const EVENTS_AT_ONCE: usize = 256;

/// Actor of one target.
pub struct TargetActor {
    engine: Target<SharedHandles>,
    executor: Arc<Executor>,
    context: Arc<Context>,
    inputs: mpsc::UnboundedSender<Input>,
    inbox: mpsc::UnboundedReceiver<Input>,
    /// Running executions, each with the channel of its operations.
    running: HashMap<Uid, mpsc::UnboundedSender<Work>>,
    wake: Moment,
}

impl TargetActor {
    /// Creates an actor without objects. `handover` comes from the actor of the target's previous version.
    #[must_use]
    pub fn new(executor: Executor, context: Arc<Context>, handover: Handover) -> Self {
        let (inputs, inbox) = mpsc::unbounded_channel();
        let executor = Arc::new(executor);
        let shared = SharedHandles::new(context.clone(), executor.clone());
        Self {
            engine: Target::new(executor.target.clone(), shared, handover),
            executor,
            context,
            inputs,
            inbox,
            running: HashMap::new(),
            wake: Moment::START,
        }
    }

    /// Runs until `stop` or the end of the watch. Running executions then continue to their end.
    pub async fn run(mut self, mut events: mpsc::Receiver<ObjectEvent>, stop: CancellationToken) -> Handover {
        let mut attestations = self.context.attestations.clone();
        let mut configuration = self.context.configuration.clone();
        self.note_state(&configuration.borrow_and_update().clone());
        let mut batch = Vec::with_capacity(EVENTS_AT_ONCE);
        let name = format!("target {}", self.executor.target.name);
        let heartbeat = self.context.health.heartbeat(name, STANDSTILL, clock::now());
        let term = self.context.term.clone();
        loop {
            heartbeat.tick(clock::now());
            self.step(Input::Tick);
            let wake = clock::instant_of(self.wake);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = term.cancelled(), if !self.engine.has_term_ended() => self.step(Input::TermEnded),
                Ok(()) = configuration.changed() => self.note_state(&configuration.borrow_and_update().clone()),
                Some(input) = self.inbox.recv() => self.step(input),
                Ok(()) = attestations.changed() => self.step(Input::AttestationChanged),
                wake = self.engine.program.next_wake() => self.step(match wake {
                    Wake::Object(uid) => Input::Concerned(uid),
                    Wake::Scopes => Input::ScopesChanged,
                }),
                // Last, because a first list of many objects takes long.
                count = events.recv_many(&mut batch, EVENTS_AT_ONCE) => match count {
                    0 => break,
                    _ => batch.drain(..).filter_map(input_of).for_each(|input| self.step(input)),
                },
                () = tokio::time::sleep_until(wake) => {}
            }
        }
        self.end()
    }

    fn note_state(&mut self, configuration: &Configuration) {
        let target = &self.executor.target.name;
        let state = configuration.state_of(target);
        self.context.holds.set_state(target, state);
        self.step(Input::StateChanged(state));
    }

    /// Returns the handover for the actor of the next version. A separate task completes the running executions.
    fn end(mut self) -> Handover {
        if self.context.term.is_cancelled() && !self.engine.has_term_ended() {
            self.step(Input::TermEnded);
        }
        let (handover, effects) = self.engine.supersede(now());
        effects.into_iter().for_each(|effect| self.perform(effect));
        if self.engine.is_at_work() {
            let (failed, jobs) = (self.context.failed.clone(), self.context.jobs.clone());
            tasks::spawn("superseded target", failed, jobs.track_future(self.finish()));
        }
        handover
    }

    async fn finish(mut self) {
        let term = self.context.term.clone();
        while self.engine.is_at_work() {
            self.step(Input::Tick);
            let wake = clock::instant_of(self.wake);
            tokio::select! {
                biased;
                () = term.cancelled(), if !self.engine.has_term_ended() => self.step(Input::TermEnded),
                Some(input) = self.inbox.recv() => self.step(input),
                () = tokio::time::sleep_until(wake) => {}
            }
        }
    }

    fn step(&mut self, input: Input) {
        for effect in self.engine.step(now(), input) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Do(object, operation) => self.pass_on((object, operation)),
            // The task of the execution ends with its channel, and releases what it holds.
            Effect::End(uid) => _ = self.running.remove(&uid),
            Effect::ReadAnew(known) => {
                let (executor, inputs) = (self.executor.clone(), self.inputs.clone());
                self.spawn(async move {
                    // If the actor has ended, the answer is not needed.
                    let live = executor.writer.read_anew(&executor.target.name, &known).await;
                    let _ = inputs.send(Input::ReadAnew(live.map(Box::new)));
                });
            }
            Effect::Report(Report::Holds(held)) => self.context.holds.set_held(&self.executor.target.name, &held),
            Effect::Report(report) => reporting::tell(&self.executor, report),
            Effect::WakeAt(at) => self.wake = at,
        }
    }

    /// Passes an operation to the execution of the object. The first operation starts the execution.
    fn pass_on(&mut self, work: Work) {
        let uid = work.0.id.uid.clone();
        let execution = self.running.remove(&uid).unwrap_or_else(|| self.begin(uid.clone()));
        // A missing receiver means that the execution panicked, which ends the program.
        let _ = execution.send(work);
        self.running.insert(uid, execution);
    }

    fn begin(&self, uid: Uid) -> mpsc::UnboundedSender<Work> {
        let (sender, works) = mpsc::unbounded_channel();
        let (executor, inputs) = (self.executor.clone(), self.inputs.clone());
        self.spawn(async move {
            // If the actor has ended, the result is not needed.
            executor.run(works, |done| _ = inputs.send(Input::Done(uid.clone(), done))).await;
        });
        sender
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        tasks::spawn("job", self.context.failed.clone(), self.context.jobs.track_future(work));
    }
}

fn now() -> Now {
    Now { moment: clock::now(), wall: clock::wall_since_epoch() }
}

/// Converts an event of the watch into an input. A heartbeat of the watch is none.
#[must_use]
pub fn input_of(event: ObjectEvent) -> Option<Input> {
    match event {
        ObjectEvent::Seen(object) => Some(Input::Seen(object)),
        ObjectEvent::Reported(uid, report) => Some(Input::Reported(uid, report)),
        ObjectEvent::Left(uid) => Some(Input::Left(uid)),
        ObjectEvent::Skipped(object) => Some(Input::Skipped(object)),
        ObjectEvent::Listed => Some(Input::Listed),
        ObjectEvent::Alive { .. } => None,
    }
}
