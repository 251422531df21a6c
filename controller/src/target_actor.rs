//! One target at work: a task that feeds the target's engine and performs the effects that the engine asks for.
//!
//! Each target has a task of its own, so that none can slow or stop another. The task decides nothing.

mod reporting;
mod shared;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_kube::identities::Wake;
use drift_kube::process::{clock, tasks};
use drift_kube::subscriptions::ObjectEvent;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::core::decision::Decision;
use crate::core::held::Held;
use crate::core::roster::Handover;
use crate::engine::{self, Effect, Input, Now, Target};
use crate::executor::{Answer, Executor, Question, Supervision};
use crate::held_objects::Asked;
use shared::Shared;

/// An actor that has not turned for this long hangs, and the kubelet starts the program anew: far above what the largest
/// batch of events takes.
const STANDSTILL: Duration = Duration::from_secs(60);
/// Watch events taken in before others get their turn again.
const EVENTS_AT_ONCE: usize = 256;

/// One target at work.
pub struct TargetActor {
    engine: Target<Shared>,
    executor: Arc<Executor>,
    context: Arc<Context>,
    inputs: mpsc::UnboundedSender<Input>,
    inbox: mpsc::UnboundedReceiver<Input>,
    questions: mpsc::UnboundedSender<Question>,
    asked: mpsc::UnboundedReceiver<Question>,
    stalls: mpsc::UnboundedSender<(Uid, Option<Held>)>,
    stalled: mpsc::UnboundedReceiver<(Uid, Option<Held>)>,
    /// From people who ask what is held.
    holdings: mpsc::Receiver<Asked>,
    running: HashMap<Uid, Running>,
    /// Cancelled when the actor ends.
    superseded: CancellationToken,
    wake: Moment,
}

/// One execution, as the actor reaches it.
#[derive(Default)]
struct Running {
    deleting: CancellationToken,
    /// Where the answer to its question goes.
    answer: Option<oneshot::Sender<Answer>>,
}

impl TargetActor {
    /// An actor that has seen nothing yet; `handover` is what the one before the target's last edit left.
    #[must_use]
    pub fn new(executor: Executor, context: Arc<Context>, handover: Handover) -> Self {
        let (inputs, inbox) = mpsc::unbounded_channel();
        let (questions, asked) = mpsc::unbounded_channel();
        let (stalls, stalled) = mpsc::unbounded_channel();
        let executor = Arc::new(executor);
        let shared = Shared::new(context.clone(), executor.clone());
        Self {
            engine: Target::new(executor.target.clone(), shared, handover),
            holdings: context.board.join(&executor.target.name),
            executor,
            context,
            inputs,
            inbox,
            questions,
            asked,
            stalls,
            stalled,
            running: HashMap::new(),
            superseded: CancellationToken::new(),
            wake: Moment::START,
        }
    }

    /// A person edited the limits: what drifts now may pass the breaker.
    pub fn let_pass(&mut self) {
        self.step(Input::LimitsEdited);
    }

    /// Works until it is stopped or the watch ends. What is under way then goes on to its end.
    pub async fn run(mut self, mut events: mpsc::Receiver<ObjectEvent>, stop: CancellationToken) -> Handover {
        let mut vouching = self.context.vouching.clone();
        let mut batch = Vec::with_capacity(EVENTS_AT_ONCE);
        let name = format!("target {}", self.executor.target.name);
        let heartbeat = self.context.health.heartbeat(name, STANDSTILL, clock::now());
        loop {
            heartbeat.tick(clock::now());
            self.step(Input::Tick);
            let wake = clock::instant_of(self.wake);
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(input) = self.inbox.recv() => self.step(input),
                Some(question) = self.asked.recv() => self.take_question(question),
                Some((uid, held)) = self.stalled.recv() => self.step(Input::Stalled(uid, held)),
                Some(asked) = self.holdings.recv() => asked.answer_with(|question| self.engine.holdings(question)),
                count = events.recv_many(&mut batch, EVENTS_AT_ONCE) => match count {
                    0 => break,
                    _ => batch.drain(..).filter_map(input_of).for_each(|input| self.step(input)),
                },
                Ok(()) = vouching.changed() => self.step(Input::AttestationChanged),
                wake = self.engine.program.identities.next_wake() => self.step(match wake {
                    Wake::Object(uid) => Input::Concerned(uid),
                    Wake::Scopes => Input::ScopesChanged,
                }),
                () = tokio::time::sleep_until(wake) => {}
            }
        }
        self.end()
    }

    fn end(self) -> Handover {
        self.superseded.cancel();
        let (handover, effects) = self.engine.end();
        for effect in effects {
            if let Effect::Report(report) = effect {
                reporting::tell(&self.executor, report);
            }
        }
        handover
    }

    fn step(&mut self, input: Input) {
        if let Input::Ended { object, .. } = &input {
            self.running.remove(&object.id.uid);
        }
        let now = Now { moment: clock::now(), wall: clock::wall_since_epoch() };
        for effect in self.engine.step(now, input) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Begin { object, decision } => self.begin(*object, decision),
            Effect::Answer(answer) => self.answer(*answer),
            Effect::Dismiss(uid) => drop(self.running.get_mut(&uid).and_then(|running| running.answer.take())),
            Effect::Interrupt(uid) => {
                self.running.get(&uid).into_iter().for_each(|running| running.deleting.cancel());
            }
            Effect::ReadAnew(known) => {
                let writer = self.executor.writer.clone();
                self.spawn(async move { Input::ReadAnew(writer.read_anew(&known).await.map(Box::new)) });
            }
            Effect::Report(report) => reporting::tell(&self.executor, report),
            Effect::WakeAt(at) => self.wake = at,
        }
    }

    fn begin(&mut self, object: LeanObject, decision: Decision) {
        let busy = self.engine.program.take_begun(&object.id.uid);
        let running = Running::default();
        let supervision = Supervision {
            questions: self.questions.clone(),
            stalls: self.stalls.clone(),
            deleting: running.deleting.clone(),
            superseded: self.superseded.clone(),
        };
        self.running.insert(object.id.uid.clone(), running);
        let executor = self.executor.clone();
        self.spawn(async move {
            let (object, end) = executor.execute(object, decision, supervision).await;
            drop(busy);
            Input::Ended { object: Box::new(object), end }
        });
    }

    fn take_question(&mut self, Question { object, was_read, answer }: Question) {
        if let Some(running) = self.running.get_mut(&object.id.uid) {
            running.answer = Some(answer);
        }
        self.step(Input::ReadLive { object, was_read });
    }

    fn answer(&mut self, answer: engine::Answer) {
        let engine::Answer { object, decision, taken, claimant } = answer;
        let uid = object.id.uid.clone();
        let holding = claimant.map(|claimant| self.engine.program.identities.hold(&uid, claimant));
        // An execution that has ended meanwhile needs no answer.
        if let Some(asked) = self.running.get_mut(&uid).and_then(|running| running.answer.take()) {
            let _ = asked.send(Answer { object, decision, taken, holding });
        }
    }

    fn spawn(&self, work: impl Future<Output = Input> + Send + 'static) {
        let inputs = self.inputs.clone();
        let job = async move {
            // Without an actor nobody needs the input.
            let _ = inputs.send(work.await);
        };
        tasks::spawn("job", self.context.failed.clone(), self.context.jobs.track_future(job));
    }
}

/// What the watch says, as an input; a sign of life is none.
fn input_of(event: ObjectEvent) -> Option<Input> {
    match event {
        ObjectEvent::Seen(object) => Some(Input::Seen(object)),
        ObjectEvent::Left(uid) => Some(Input::Left(uid)),
        ObjectEvent::Skipped(object) => Some(Input::Skipped(object)),
        ObjectEvent::Listed => Some(Input::Listed),
        ObjectEvent::Alive { .. } => None,
    }
}
