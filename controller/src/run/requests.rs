//! Sends the requests of a correction one by one to the external system.
//!
//! The engine renders the requests and judges the responses.

mod by_system;
pub mod held_hosts;
mod http;
mod job;
mod kubernetes;
mod ldap;
mod nudge;
mod sql;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use drift_api::{CredentialError, Uid};
use drift_kube::process::clock;
use drift_kube::{JobClient, Leadership, ResourceClient};
use drift_systems::{Databases, HostGate, HostReply, HttpSender, WriteProgress};
use tokio_util::sync::CancellationToken;

use held_hosts::{HeldHosts, HostPlace};

pub use by_system::{Requests, Ways, render};

use crate::engine::StepAnswer;
use crate::engine::corrections::outcome::{Doubt, Uncertainty};
use crate::engine::rendering::{Plan, Unrenderable};

/// Maximum age of the last Lease renewal when a step is sent. Together with the cut-off at the loss of the Lease, none
/// of our requests is running when another controller may begin.
pub const FRESH_LEASE: Duration = Duration::from_secs(5);

/// Interval of Lease checks while a request waits for its response. A request outlives the Lease by at most this time.
const LOOK_AT_LEASE: Duration = Duration::from_millis(500);

/// Outcome of sending a request.
#[derive(Debug)]
pub enum Sent {
    /// The request was answered.
    Answered(StepAnswer),
    /// The request will get no response.
    Unanswered(Uncertainty),
    /// The Lease was lost or the drain deadline passed while the request was running.
    CutOff,
    /// The request was not sent, because the program is shutting down, the Lease is not fresh, or the host has just
    /// asked for a delay.
    NotSent,
}

/// Returns the outcome of a write whose deadline passed. Before it was sent, it certainly had no effect.
fn timed_out(progress: &WriteProgress) -> Sent {
    let why = if progress.has_begun() { Doubt::TimedOut } else { Doubt::NotConnected };
    Sent::Unanswered(Uncertainty::unanswered(why))
}

/// Requests of one correction to one kind of system, rendered one by one, and the meaning of their responses.
pub trait SystemRequests: Send + Sync {
    /// Returns the plan of the steps.
    fn plan(&self) -> Plan;

    /// Returns the host of each request in order. The API server is none of them, because the program's calls to it
    /// have a limit of their own.
    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks that the credential of every request is available.
    ///
    /// # Errors
    /// Returns the reason why one is missing, without its value.
    fn check_credentials(&self, _sender: &HttpSender) -> Result<(), String> {
        Ok(())
    }

    /// Checks that the secrets of all statements may be sent to their hosts. The secrets of HTTP requests are checked
    /// when each request is rendered.
    ///
    /// # Errors
    /// Returns the reason why a secret may not be sent.
    fn check_secrets(&self) -> Result<(), CredentialError> {
        Ok(())
    }

    /// Renders the request of this step as the next one to send. Returns false if the step is skipped.
    ///
    /// # Errors
    /// Fails when a template fails for this object and the responses so far.
    fn make_ready(&mut self, index: usize) -> Result<bool, Unrenderable>;

    /// Returns the name of the request rendered last, if its step has one for each item of a list.
    fn item_label(&self, _index: usize) -> Option<Arc<str>> {
        None
    }

    /// Sends the request rendered last, and judges the response.
    fn send<'s>(&'s mut self, index: usize, context: SendContext<'s>) -> Sending<'s>;
}

/// Future of a request that is being sent.
pub type Sending<'s> = Pin<Box<dyn Future<Output = Sent> + Send + 's>>;

/// Context of sending a request.
#[derive(Debug)]
pub struct SendContext<'s> {
    sender: &'s RequestSender,
    /// Name of the poll target, for log lines.
    target: &'s str,
    object: &'s Uid,
    /// Maximum concurrent requests of the target.
    concurrent: u32,
    /// True for the first external write. It is not sent during shutdown or while the host asks for a delay.
    begins: bool,
    held: &'s mut HeldHosts,
}

impl SendContext<'_> {
    /// Waits for a place at this host; `None` if no request may be sent any more.
    async fn take_place(&mut self, host: &str) -> Option<HostPlace> {
        let (sender, begins) = (self.sender, self.begins);
        let entered = match self.held.place.take().filter(|place| place.host == host) {
            Some(place) => Some(place),
            None if begins => sender.enter_first(host.to_owned(), self.concurrent).await,
            None => sender.enter(host.to_owned(), self.concurrent).await,
        };
        // Checked after the wait for a place, which may have taken long.
        let mut place = entered.filter(|_| sender.may_send(begins))?;
        place.permit.take_over(self.held.probes.remove(host));
        // A delay that began after the first write does not interrupt a correction.
        let is_paused = sender.gate.begin(&mut place.permit, clock::now()).is_err();
        (!(is_paused && begins)).then_some(place)
    }

    fn note(&self, place: &HostPlace, heard: HostReply) {
        self.sender.gate.note(&place.permit, self.object, heard, clock::now());
    }
}

/// Sends requests while this process leads.
#[derive(Clone, Debug)]
pub struct RequestSender {
    /// Sender of HTTP requests to external systems.
    pub sender: HttpSender,
    /// Connections to databases.
    pub databases: Databases,
    /// Client for Jobs in the cluster.
    pub jobs: JobClient,
    /// Client for cluster objects that are external resources.
    pub resources: ResourceClient,
    /// Leadership, checked before each request and while it is running.
    pub leadership: Leadership,
    /// Cancelled at the end of the term, which aborts running requests.
    pub term: CancellationToken,
    /// Cancelled at shutdown. Corrections that have begun continue, and no new one begins.
    pub stop: CancellationToken,
    /// Limits for each host, across all targets.
    pub gate: Arc<HostGate>,
}

impl RequestSender {
    /// Returns true if a correction may begin now.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        !self.stop.is_cancelled() && self.may_go_on()
    }

    /// Returns true if a correction may continue after its first request, also during shutdown.
    fn may_go_on(&self) -> bool {
        !self.term.is_cancelled() && self.leadership.renewed_within(FRESH_LEASE)
    }

    fn may_send(&self, begins: bool) -> bool {
        if begins { self.may_begin() } else { self.may_go_on() }
    }

    /// Waits for a place for a first request, possibly for long. The object must be judged after this wait, so that the
    /// judgement is current. `None` at shutdown.
    pub async fn enter_first(&self, host: String, concurrent: u32) -> Option<HostPlace> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            place = self.enter(host, concurrent) => place,
        }
    }

    /// Returns a place if one is free.
    #[must_use]
    pub fn try_enter(&self, host: &str) -> Option<HostPlace> {
        self.gate.try_enter(host).map(|permit| HostPlace { host: host.to_owned(), permit })
    }

    /// Waits for a place among the requests to the host; `None` at the end of the term.
    async fn enter(&self, host: String, concurrent: u32) -> Option<HostPlace> {
        tokio::select! {
            biased;
            () = self.term.cancelled() => None,
            permit = self.gate.enter(&host, concurrent) => Some(HostPlace { host, permit }),
        }
    }

    /// Sends the request rendered last, using the held places of its host. If `begins`, it is not sent during shutdown
    /// or while the host asks for a delay.
    pub async fn send(&self, requests: &mut Requests<'_>, index: usize, begins: bool, held: &mut HeldHosts) -> Sent {
        let Requests { target, object, concurrent, system } = requests;
        let context = SendContext { sender: self, target, object, concurrent: *concurrent, begins, held };
        system.send(index, context).await
    }

    /// Returns the output of `send`; `None` if this process does not lead any more. Leadership is checked on every
    /// poll: a process that was suspended while another took the Lease must not send the rest of its request.
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
