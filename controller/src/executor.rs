//! Carries out decisions: does each step that [`Execution`] asks for, and tells it what came of it.
//!
//! The live read that opens a correction comes with its place at the host of the first request, so that nothing that
//! happens while the correction waits for the host goes unseen; what was done outside is noted without one. A place is
//! held during the object's own read and claim, never while that waits for a call to the API server. This file decides
//! nothing: neither what is done, nor in which order.

mod places;
mod readiness;
mod telling;
mod told_causes;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::StatusFields;
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_kube::identities::HeldClaim;
use drift_kube::object_writer::{CallSlot, ObjectWriter};
use drift_kube::process::kill_point::{KillPoint, reach};
use drift_language::Target;
use places::Places;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::core::decision::Decision;
use crate::core::execution::{Event, Execution, ExecutionEnd, Interrupt, Rendered, Step};
use crate::core::held::Held;
use crate::core::limits::Taken;
use crate::core::nudge::NudgeReply;
use crate::core::outcome::{Doubt, StepOutcome, Uncertainty};
use crate::metrics::Metrics;
use crate::notices::Announcer;
use crate::requests::held_hosts::HeldHosts;
use crate::requests::{Reply, RequestSender, Requests, Sent};
use crate::secrets::Secrets;
pub use told_causes::ToldCauses;

/// Carries out decisions for the objects of one target.
#[derive(Clone, Debug)]
pub struct Executor {
    /// The target.
    pub target: Arc<Target>,
    /// Reads and writes of objects.
    pub writer: ObjectWriter,
    /// Writes outside.
    pub requests: RequestSender,
    /// What is sent of Secrets.
    pub secrets: Secrets,
    /// Says what happened.
    pub announcer: Announcer,
    /// Counters.
    pub metrics: Metrics,
    /// Why objects cannot be corrected, as it was told last.
    pub told_causes: ToldCauses,
}

/// An object was read live and is to be decided anew; an answer that does not come means that nothing is to be done.
#[derive(Debug)]
pub struct Question {
    /// The object as it was read.
    pub object: Box<LeanObject>,
    /// It was: nothing could be sent for an object that was not.
    pub was_read: bool,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Answer>,
}

/// What was decided on the live object.
#[derive(Debug)]
pub struct Answer {
    /// The newest state that is known.
    pub object: Box<LeanObject>,
    /// The decision on that.
    pub decision: Decision,
    /// A correction's part of the target's limits. It is given back when nothing more is asked of the external system: the
    /// word on the object that follows may be refused for ever, which is no reason to hold up others.
    pub taken: Option<Taken>,
    /// The resource is the object's until the outcome is noted or its first write fails, also where the object leaves its target meanwhile.
    pub holding: Option<HeldClaim>,
}

/// What one execution is given by whoever has it carried out.
#[derive(Clone, Debug)]
pub struct Supervision {
    /// Where the object is decided anew.
    pub questions: mpsc::UnboundedSender<Question>,
    /// Where it is told why nothing comes of what was begun for the object; `None` where something does by now.
    pub stalls: mpsc::UnboundedSender<(Uid, Option<Held>)>,
    /// Cancelled when the object is seen to be deleted.
    pub deleting: CancellationToken,
    /// Cancelled when the target works by another text, or is gone.
    pub superseded: CancellationToken,
}

/// One execution under way.
struct Run<'a> {
    executor: &'a Executor,
    supervision: Supervision,
    execution: Execution,
    places: Places,
    requests: Option<Requests<'a>>,
    /// That the API server refuses the outcome was said.
    told_of_refusal: bool,
    /// It cannot be sent for a cause that was told before.
    tells_nothing_new: bool,
    /// The object was not read live, since nothing could be sent for it.
    is_unread: bool,
}

impl Executor {
    /// Carries out what was decided on `object`. Gives the newest state that is known, and what became of the decision.
    pub async fn execute(
        &self,
        object: LeanObject,
        decision: Decision,
        supervision: Supervision,
    ) -> (LeanObject, ExecutionEnd) {
        let execution = Execution::new(object, decision);
        let places = Places::default();
        let mut run = Run {
            executor: self,
            supervision,
            execution,
            places,
            requests: None,
            told_of_refusal: false,
            tells_nothing_new: false,
            is_unread: false,
        };
        let mut event = Event::Begin;
        loop {
            event = match run.execution.next(event) {
                Step::Read => run.read().await,
                Step::ReadAgain => run.read_again().await,
                Step::Decide => run.decide().await,
                Step::Prepare => Event::Prepared(run.prepare()),
                Step::Write(write) => run.write(&write).await,
                Step::Render(index) => Event::Rendered(run.render(index)),
                Step::Send { index, begins } => run.send(index, begins).await,
                Step::Pause(pause) => run.pause(pause).await,
                Step::End(end) => {
                    run.tell_end(&end);
                    return (run.execution.object().clone(), end);
                }
            };
        }
    }
}

impl Run<'_> {
    /// A correction that lacks a Secret costs the API server no read, however many objects lack it.
    async fn read(&mut self) -> Event {
        let known = self.execution.object();
        self.is_unread =
            self.execution.correction().is_some_and(|correction| self.executor.lacks_something(known, correction));
        if self.is_unread {
            return Event::Read(Ok(Some(Box::new(known.clone()))));
        }
        let Some((host, call)) = self.executor.enter(&self.execution).await else { return Event::Dismissed };
        self.places.hosts.place = host;
        self.read_in(call).await
    }

    /// Whatever ends or is full outside, what was done is still to be said.
    async fn read_again(&mut self) -> Event {
        let call = self.executor.writer.slots.enter().await;
        self.read_in(call).await
    }

    async fn read_in(&mut self, call: CallSlot) -> Event {
        let known = self.execution.object();
        let read = self.executor.writer.read(&call, &known.id).await;
        self.places.call = Some(call);
        reach(KillPoint::ControllerAfterLiveRead);
        Event::Read(
            read.map(|live| live.map(|live| Box::new(live.read_after(known)))).map_err(|error| error.to_string()),
        )
    }

    async fn decide(&mut self) -> Event {
        let (answer, answered) = oneshot::channel();
        let object = Box::new(self.execution.object().clone());
        let question = Question { object, was_read: !self.is_unread, answer };
        if self.supervision.questions.send(question).is_err() {
            return Event::Dismissed;
        }
        let Ok(Answer { object, decision, taken, holding }) = answered.await else { return Event::Dismissed };
        if taken.is_none() {
            // Nobody else waits at the host for a word on the object.
            self.places.hosts = HeldHosts::default();
        }
        (self.places.taken, self.places.holding) = (taken, holding);
        Event::Decided(object, decision)
    }

    fn render(&mut self, index: usize) -> Rendered {
        let Some(requests) = &mut self.requests else { return Rendered::Fails(Doubt::TemplateFails) };
        requests.render_next(index).unwrap_or_else(|why| {
            self.tell_unsendable(&why);
            Rendered::Fails(why.doubt)
        })
    }

    async fn send(&mut self, index: usize, begins: bool) -> Event {
        self.places.call = None;
        if index == 0 {
            self.log("correcting", None);
        }
        let Some(requests) = &mut self.requests else { return Event::NotSent };
        reach(KillPoint::ControllerBeforeStep);
        let sent = self.executor.requests.send(requests, begins, &mut self.places.hosts).await;
        reach(KillPoint::ControllerAfterStep);
        match sent {
            Sent::Answered(reply) => {
                let (part, outcome) = requests.judge(index, &reply);
                let stored = requests.take_stored();
                part.into_iter().for_each(|label| self.execution.name_step(index, label));
                if let Reply::Http(reply) = &reply
                    && !outcome.is_accepted()
                {
                    let (target_name, status) = (&self.executor.target.name, reply.status.as_u16());
                    tracing::warn!(target_name, status, step = index, "a step of a correction is not accepted");
                }
                if let StepOutcome::Open(sighting) = &outcome {
                    self.job_goes_on(sighting.as_ref());
                }
                if let Reply::Nudge(NudgeReply::Taken(object)) = reply {
                    self.execution.see(*object);
                }
                Event::Answered(outcome, stored)
            }
            Sent::Unanswered(doubt) => {
                Event::Answered(StepOutcome::Indefinite(Uncertainty::unanswered(doubt)), StatusFields::NONE)
            }
            Sent::CutOff => Event::CutOff,
            Sent::NotSent => Event::NotSent,
        }
    }

    /// Waits; whatever cuts the pause short does so once.
    async fn pause(&mut self, pause: Duration) -> Event {
        self.places = Places::default();
        let term = &self.executor.requests.term;
        let before = self.interrupt();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = term.cancelled(), if before != Some(Interrupt::CutOff) => {}
            () = self.supervision.superseded.cancelled(), if before.is_none() => {}
            () = self.supervision.deleting.cancelled(), if !self.supervision.deleting.is_cancelled() => {}
        }
        Event::Waited(self.interrupt())
    }

    fn interrupt(&self) -> Option<Interrupt> {
        if self.executor.requests.term.is_cancelled() {
            Some(Interrupt::CutOff)
        } else {
            self.supervision.superseded.is_cancelled().then_some(Interrupt::Superseded)
        }
    }
}
