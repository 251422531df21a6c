//! The requests of a correction, sent one by one to the external system.
//!
//! What they are and what their answers mean is the engine's to say.

mod by_system;
pub mod held_hosts;
mod http;
mod job;
mod kubernetes;
mod nudge;
mod postgres;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_kube::jobs::JobClient;
use drift_kube::lease::Leadership;
use drift_kube::process::clock;
use drift_kube::resources::ResourceClient;
use drift_systems::{Databases, HostGate, HostReply, HttpSender};
use tokio_util::sync::CancellationToken;

use held_hosts::{HeldHosts, HostPlace};

pub use by_system::{Requests, Ways, render};

use crate::engine::StepAnswer;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::rendering::plan::Plan;
use crate::engine::rendering::unrenderable::Unrenderable;

/// The deadline of a step without a `timeout`: what a healthy system needs with a margin of a hundred, and what people
/// still wait for.
pub const STEP_DEADLINE: Duration = Duration::from_secs(10);

/// How recent the last renewal of our Lease must be when a step is sent: with the step's deadline cut at the loss of
/// the Lease, nothing of ours is under way when another may begin.
pub const FRESH_LEASE: Duration = Duration::from_secs(5);

/// How often it is asked whether we still lead while a request is under way and nothing comes: the Lease is stale for
/// at most this long before the request is cut off.
const LOOK_AT_LEASE: Duration = Duration::from_millis(500);

/// The outcome of sending a request.
#[derive(Debug)]
pub enum Sent {
    /// It was answered.
    Answered(StepAnswer),
    /// It is known to stay without an answer.
    Unanswered(Doubt),
    /// It was under way when the Lease was lost or the time to drain was over.
    CutOff,
    /// It was not sent: the program ends, the Lease is not fresh, or the host is to be left alone since just now.
    NotSent,
}

/// The requests of one correction to one kind of system, rendered one after the other, and the meaning of their answers.
pub trait SystemRequests: Send + Sync {
    /// The steps.
    fn plan(&self) -> Plan;

    /// The host of each request, that of the first first. The API server is none: the program's calls there have one limit.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the credential of every request is there.
    ///
    /// # Errors
    /// Why one is not, without its value.
    fn check_credentials(&self, _sender: &HttpSender) -> Result<(), String> {
        Ok(())
    }

    /// Whether the secrets of all statements may go where they would. Those of requests are judged one by one, as they are rendered.
    ///
    /// # Errors
    /// Why one may not.
    fn check_secrets(&self) -> Result<(), CredentialError> {
        Ok(())
    }

    /// Renders the request of this step, to be sent next. Returns false if the step is skipped.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object and the answers so far.
    fn make_ready(&mut self, index: usize) -> Result<bool, Unrenderable>;

    /// Sends the request that was rendered last, and judges the answer.
    fn send<'s>(&'s mut self, index: usize, context: SendContext<'s>) -> Sending<'s>;
}

/// A request on its way.
pub type Sending<'s> = Pin<Box<dyn Future<Output = Sent> + Send + 's>>;

/// The context of sending a request.
#[derive(Debug)]
pub struct SendContext<'s> {
    sender: &'s RequestSender,
    object: &'s Uid,
    /// Requests that the target allows at once.
    concurrent: u32,
    /// Nothing was written outside before it: it is not sent while the program ends, or the host is to be left alone.
    begins: bool,
    held: &'s mut HeldHosts,
}

impl SendContext<'_> {
    /// Waits for a place at this host; `None` where nothing may be sent any more.
    async fn take_place(&mut self, host: &str) -> Option<HostPlace> {
        let (sender, begins) = (self.sender, self.begins);
        let entered = match self.held.place.take().filter(|place| place.host == host) {
            Some(place) => Some(place),
            None if begins => sender.enter_first(host.to_owned(), self.concurrent).await,
            None => sender.enter(host.to_owned(), self.concurrent).await,
        };
        // Asked after the wait for a place, which may have been long.
        let mut place = entered.filter(|_| sender.may_send(begins))?;
        place.permit.take_over(self.held.probes.remove(host));
        // A pause that began since the first write does not cut a correction in two.
        let is_paused = sender.gate.begin(&mut place.permit, clock::now()).is_err();
        (!(is_paused && begins)).then_some(place)
    }

    fn note(&self, place: &HostPlace, heard: HostReply) {
        self.sender.gate.note(&place.permit, self.object, heard, clock::now());
    }
}

/// Sends requests while we lead.
#[derive(Clone, Debug)]
pub struct RequestSender {
    /// The way to the external systems.
    pub sender: HttpSender,
    /// The connections to databases.
    pub databases: Databases,
    /// Jobs in the cluster.
    pub jobs: JobClient,
    /// The objects of the cluster that are external resources.
    pub resources: ResourceClient,
    /// Whether we lead, asked before each request and while it is under way.
    pub leadership: Leadership,
    /// Cancelled when we do not any more: what is under way is cut off.
    pub term: CancellationToken,
    /// Cancelled when the program is to end: what was begun goes on, but nothing further begins.
    pub stop: CancellationToken,
    /// The limits of one host over all targets.
    pub gate: Arc<HostGate>,
}

impl RequestSender {
    /// Returns true if a correction may begin now.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        !self.stop.is_cancelled() && self.may_go_on()
    }

    /// Returns true if a correction whose first request was sent may go on: also while the program ends.
    fn may_go_on(&self) -> bool {
        !self.term.is_cancelled() && self.leadership.renewed_within(FRESH_LEASE)
    }

    fn may_send(&self, begins: bool) -> bool {
        if begins { self.may_begin() } else { self.may_go_on() }
    }

    /// Waits for a place for a first request, which may take long: whoever judges the object after it judges what is to
    /// be sent at once. `None` where we have to stop first.
    pub async fn enter_first(&self, host: String, concurrent: u32) -> Option<HostPlace> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            place = self.enter(host, concurrent) => place,
        }
    }

    /// A place, if one is free.
    #[must_use]
    pub fn try_enter(&self, host: &str) -> Option<HostPlace> {
        self.gate.try_enter(host).map(|permit| HostPlace { host: host.to_owned(), permit })
    }

    /// A place among the requests to the host; `None` where we lead no more.
    async fn enter(&self, host: String, concurrent: u32) -> Option<HostPlace> {
        tokio::select! {
            biased;
            () = self.term.cancelled() => None,
            permit = self.gate.enter(&host, concurrent) => Some(HostPlace { host, permit }),
        }
    }

    /// Sends the request that was rendered last, with what is held of its host. One that `begins` is not sent while the
    /// program ends, or the host is to be left alone.
    pub async fn send(&self, requests: &mut Requests<'_>, index: usize, begins: bool, held: &mut HeldHosts) -> Sent {
        let Requests { object, concurrent, system } = requests;
        system.send(index, SendContext { sender: self, object, concurrent: *concurrent, begins, held }).await
    }

    /// What `send` gives, or `None` where we do not lead any more. Asked each time that it goes on: a process that stood
    /// still while another took the Lease must not send what it had not sent before.
    async fn while_leading<T>(&self, send: impl Future<Output = T>) -> Option<T> {
        let mut send = pin!(send);
        let mut lost = pin!(self.term.cancelled());
        let mut look = tokio::time::interval(LOOK_AT_LEASE);
        poll_fn(|context| {
            while look.poll_tick(context).is_ready() {}
            if lost.as_mut().poll(context).is_ready() || !self.leadership.is_held() {
                return Poll::Ready(None);
            }
            send.as_mut().poll(context).map(Some)
        })
        .await
    }
}
