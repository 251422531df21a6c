//! Performs the operations of the engine. Each execution has its own task.
//!
//! The live read that opens a correction already holds the place at the host of the first request. So no change during
//! the wait for the host goes unseen. A place is held during the object's own read and claim, but not while those wait
//! for a call to the API server. This module decides nothing: neither the operations nor their order.

mod holders;
mod writes;

use std::sync::Arc;

use drift_api::object::LeanObject;
use drift_kube::process::kill_point::reach;
use drift_kube::{CallSlot, KillPoint, ObjectWriter};
use drift_language::Target;
use tokio::sync::mpsc;

use crate::engine::execution::{Event, Operation, Probes, Sending};
use crate::run::metrics::Metrics;
use crate::run::notices::Announcer;
use crate::run::requests::{FollowedJob, HostPlace, RequestSender, SendContext};
use crate::run::secrets::Secrets;

/// Performs operations for the objects of one target.
#[derive(Clone, Debug)]
pub struct Executor {
    /// Target of the decisions.
    pub target: Arc<Target>,
    /// Reader and writer of objects.
    pub writer: ObjectWriter,
    /// Sender of external requests.
    pub requests: RequestSender,
    /// Secrets that corrections send.
    pub secrets: Secrets,
    /// Writer of Events and log lines.
    pub announcer: Announcer,
    /// Counters of this program.
    pub metrics: Metrics,
}

/// An operation for an object in its newest known state.
pub type Work = (Box<LeanObject>, Operation);

/// One running execution.
#[derive(Debug)]
pub struct Run<'a> {
    executor: &'a Executor,
    /// Place at the host of the first request.
    place: Option<HostPlace>,
    /// Probes of unresponsive hosts, for the next requests.
    probes: Probes,
    /// Call slot of the last read or write, for the next one.
    call: Option<CallSlot>,
    /// Job that is being followed.
    job: Option<FollowedJob>,
    /// True if the refusal of the outcome by the API server was reported.
    told_of_refusal: bool,
}

impl Executor {
    /// Performs the operations of one execution in order, until no more can come.
    pub async fn run(&self, mut works: mpsc::UnboundedReceiver<Work>, done: impl Fn(Event)) {
        let mut run = self.begin();
        while let Some((object, operation)) = works.recv().await {
            done(run.perform(&object, operation).await);
        }
    }

    /// Creates an execution before its first operation.
    #[must_use]
    pub fn begin(&self) -> Run<'_> {
        Run { executor: self, place: None, probes: Probes::new(), call: None, job: None, told_of_refusal: false }
    }
}

impl Run<'_> {
    /// Performs one operation for the object in its newest known state.
    pub async fn perform(&mut self, object: &LeanObject, operation: Operation) -> Event {
        match operation {
            Operation::Read(host) => match self.enter(host).await {
                Some((place, call)) => {
                    self.place = place;
                    self.read(object, call).await
                }
                None => Event::Dismissed,
            },
            Operation::ReadAgain => {
                self.call = None;
                let call = self.executor.writer.slots.enter().await;
                self.read(object, call).await
            }
            Operation::ReadHolders(holders, resource) => {
                self.release_hosts();
                Event::HoldersRead { is_claimed: self.is_claimed(&holders, &resource).await }
            }
            Operation::Write(write) => {
                if !write.precedes_request() {
                    self.release_hosts();
                }
                self.write(object, &write).await
            }
            Operation::Send(sending) => self.send(object, *sending).await,
        }
    }

    fn release_hosts(&mut self) {
        (self.place, self.probes) = (None, Probes::new());
    }

    /// Acquires a place at this host, if there is one, and a call slot. Neither is held during a long wait for the
    /// other. `None` at shutdown.
    async fn enter(&self, host: Option<String>) -> Option<(Option<HostPlace>, CallSlot)> {
        let Executor { requests, writer, target, .. } = self.executor;
        let Some(host) = host else { return Some((None, writer.slots.enter().await)) };
        loop {
            let place = requests.enter_first(host.clone(), target.correct.limits.concurrent).await?;
            if let Some(call) = writer.slots.try_enter() {
                return Some((Some(place), call));
            }
            drop(place);
            let call = writer.slots.enter().await;
            if let Some(place) = requests.try_enter(&host) {
                return Some((Some(place), call));
            }
        }
    }

    async fn read(&mut self, known: &LeanObject, call: CallSlot) -> Event {
        let read = self.executor.writer.read(&call, &known.id).await;
        // Nothing may follow a failed read for a while.
        self.call = Some(call).filter(|_| read.is_ok());
        reach(KillPoint::ControllerAfterLiveRead);
        Event::Read(
            read.map(|live| live.map(|live| Box::new(live.read_after(known)))).map_err(|error| error.to_string()),
        )
    }

    async fn send(&mut self, object: &LeanObject, sending: Sending) -> Event {
        self.call = None;
        let Executor { requests, target, writer, .. } = self.executor;
        let Sending { request, correction, begins, checked_host, probes } = sending;
        self.probes.extend(probes);
        let context = SendContext {
            sender: requests,
            target,
            writer,
            object: &object.id,
            correction,
            begins,
            checked_host,
            place: &mut self.place,
            probes: &mut self.probes,
        };
        reach(KillPoint::ControllerBeforeStep);
        let event = context.send(request, &mut self.job).await;
        reach(KillPoint::ControllerAfterStep);
        event
    }
}
