//! Performs the operations of the engine. Each execution has its own task.
//!
//! The live read that opens a correction already holds the place at the host of the first request. So no change during
//! the wait for the host goes unseen. A place is held during the object's own read and claim, but not while those wait
//! for a call to the API server. This module decides nothing: neither the operations nor their order.

mod correction_record;
mod holders;
mod places;
mod readiness;
mod reports;
mod writes;

use std::sync::Arc;

use drift_api::{LeanObject, ObjectView};
use drift_kube::process::kill_point::reach;
use drift_kube::{CallSlot, KillPoint, ObjectWriter};
use drift_language::Target;
use tokio::sync::mpsc;

use crate::engine::corrections::{Correction, Doubt, StepOutcome, Uncertainty};
use crate::engine::execution::{Event, Rendered};
use crate::engine::{Operation, StepAnswer, Work};
use crate::run::metrics::Metrics;
use crate::run::notices::Announcer;
use crate::run::requests::held_hosts::HeldHosts;
use crate::run::requests::{RequestSender, Requests, Sent};
use crate::run::secrets::Secrets;
use correction_record::CorrectionRecord;
pub use reports::ReportedCauses;

/// Executes decisions for the objects of one target.
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
    /// Last reported causes why objects cannot be corrected.
    pub reported_causes: ReportedCauses,
}

/// One running execution.
pub struct Run<'a> {
    executor: &'a Executor,
    /// Newest known state of the object.
    object: LeanObject,
    correction: Option<Box<Correction>>,
    hosts: HeldHosts,
    call: Option<CallSlot>,
    /// Requests rendered for `rendered_for`. They are kept until the end, as long as their inputs stay the same.
    requests: Option<Requests<'a>>,
    rendered_for: Option<(ObjectView, Box<Correction>)>,
    /// True if the refusal of the outcome by the API server was reported.
    told_of_refusal: bool,
    /// Record of the correction.
    record: CorrectionRecord,
    /// True if the correction cannot be sent for a cause that was already reported.
    tells_nothing_new: bool,
}

impl Executor {
    /// Performs the operations of one execution in order until its end.
    pub async fn run(&self, mut works: mpsc::UnboundedReceiver<Box<Work>>, done: impl Fn(Event)) {
        let Some(first) = works.recv().await else { return };
        let mut run = self.begin(first.object.clone());
        let mut next = Some(first);
        while let Some(work) = next {
            let is_end = matches!(work.operation, Operation::End(_));
            if let Some(result) = run.perform(*work).await {
                done(result);
            }
            next = if is_end { None } else { works.recv().await };
        }
    }

    /// Creates an execution before its first operation.
    #[must_use]
    pub fn begin(&self, object: LeanObject) -> Run<'_> {
        Run {
            executor: self,
            object,
            correction: None,
            hosts: HeldHosts::default(),
            call: None,
            requests: None,
            rendered_for: None,
            told_of_refusal: false,
            record: CorrectionRecord::default(),
            tells_nothing_new: false,
        }
    }
}

impl Run<'_> {
    /// Performs one operation. A pause and the end have no result.
    pub async fn perform(&mut self, work: Work) -> Option<Event> {
        let Work { object, correction, operation, keeps_hosts } = work;
        (self.object, self.correction) = (object, correction);
        if !keeps_hosts {
            self.hosts = HeldHosts::default();
        }
        Some(match operation {
            Operation::Check => Event::Checked { lacks_something: self.lacks_something() },
            Operation::Read => self.read().await,
            Operation::ReadAgain => self.read_again().await,
            Operation::ReadHolders(holders, resource) => {
                Event::HoldersRead { is_claimed: self.is_claimed(&holders, &resource).await }
            }
            Operation::Prepare { is_unread } => Event::Prepared(self.prepare(is_unread)),
            Operation::Write(write) => self.write(&write).await,
            Operation::Render(index) => Event::Rendered(self.render(index)),
            Operation::Send { index, begins } => self.send(index, begins).await,
            Operation::Pause => {
                self.give_back();
                return None;
            }
            Operation::End(end) => {
                self.give_back();
                self.count(&end);
                return None;
            }
        })
    }

    fn give_back(&mut self) {
        (self.hosts, self.call) = (HeldHosts::default(), None);
    }

    async fn read(&mut self) -> Event {
        let Some((host, call)) = self.enter().await else { return Event::Dismissed };
        self.hosts.place = host;
        self.read_in(call).await
    }

    async fn read_again(&mut self) -> Event {
        let call = self.executor.writer.slots.enter().await;
        self.read_in(call).await
    }

    async fn read_in(&mut self, call: CallSlot) -> Event {
        let known = &self.object;
        let read = self.executor.writer.read(&call, &known.id).await;
        self.call = Some(call);
        reach(KillPoint::ControllerAfterLiveRead);
        Event::Read(
            read.map(|live| live.map(|live| Box::new(live.read_after(known)))).map_err(|error| error.to_string()),
        )
    }

    fn render(&mut self, index: usize) -> Rendered {
        let Some(requests) = &mut self.requests else {
            return Rendered::Fails(Uncertainty::unanswered(Doubt::TemplateFails));
        };
        match requests.system.make_ready(index) {
            Ok(true) => requests.system.item_label(index).map_or(Rendered::Ready, Rendered::Item),
            Ok(false) => Rendered::Skipped,
            Err(why) => {
                self.tell_unsendable(&why);
                Rendered::Fails(why.uncertainty())
            }
        }
    }

    async fn send(&mut self, index: usize, begins: bool) -> Event {
        self.call = None;
        if self.record.begin(&self.object) {
            self.log("correcting", None);
        }
        let Some(requests) = &mut self.requests else { return Event::NotSent };
        let label = requests.system.plan().label(index);
        reach(KillPoint::ControllerBeforeStep);
        let sent = self.executor.requests.send(requests, index, begins, &mut self.hosts).await;
        reach(KillPoint::ControllerAfterStep);
        let answer = match sent {
            Sent::Answered(answer) => answer,
            Sent::Unanswered(uncertainty) => StepAnswer::of(StepOutcome::Indefinite(uncertainty)),
            Sent::CutOff => return Event::CutOff,
            Sent::NotSent => return Event::NotSent,
        };
        let step = label.as_deref().map_or_else(|| (index + 1).to_string(), str::to_owned);
        self.tell_not_accepted(answer.label.as_deref().unwrap_or(&step), &answer);
        self.record.add(step, &answer);
        Event::Answered(answer)
    }
}
