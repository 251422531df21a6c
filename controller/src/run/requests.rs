//! The requests of a correction, sent one by one to the external system.
//!
//! What they are and what their answers mean is the engine's to say. This file must not know of conditions, claims or objects beyond what the templates see.

pub mod held_hosts;
mod job;
mod manifests;
mod nudge;
mod prepared;
mod statements;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use drift_kube::jobs::JobClient;
use drift_kube::lease::Leadership;
use drift_kube::process::clock;
use drift_kube::resources::ResourceClient;
use drift_systems::before_deadline;
use drift_systems::heard;
use drift_systems::{
    Databases, ExchangeProgress, Heard, HostGate, HttpFailure, HttpReply, HttpSender, StatementFailure,
};
use tokio_util::sync::CancellationToken;

use held_hosts::{HeldHosts, HostPlace};
use job::JobRequest;
use nudge::NudgeRequest;
use prepared::Means;

pub use prepared::{Requests, Ways, render};

use crate::engine::corrections::outcome::Doubt;
use crate::engine::rendering::job::JobReply;
use crate::engine::rendering::manifests::ManifestReply;
use crate::engine::rendering::nudge::NudgeReply;

/// The deadline of one step: what a healthy system needs with a margin of a hundred, and what people still wait for.
pub const STEP_DEADLINE: Duration = Duration::from_secs(10);

/// How recent the last renewal of our Lease must be when a step is sent: with the step's deadline cut at the loss of
/// the Lease, nothing of ours is under way when another may begin.
pub const FRESH_LEASE: Duration = Duration::from_secs(5);

/// How often it is asked whether we still lead while a request is under way and nothing comes: the Lease is stale for
/// at most this long before the request is cut off.
const LOOK_AT_LEASE: Duration = Duration::from_millis(500);

/// What became of a request.
#[derive(Clone, Debug)]
pub enum Sent {
    /// It was answered.
    Answered(Reply),
    /// It is known to stay without an answer.
    Unanswered(Doubt),
    /// It was under way when the Lease was lost or the time to drain was over.
    CutOff,
    /// It was not sent: the program ends, the Lease is not fresh, or the host is to be left alone since just now.
    NotSent,
}

/// What an external system answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An HTTP server.
    Http(HttpReply),
    /// A PostgreSQL server: all statements were done, or where they ended.
    Sql(Result<(), StatementFailure>),
    /// The API server, to a nudge.
    Nudge(NudgeReply),
    /// The API server, of a Job.
    Job(JobReply),
    /// The API server, to a manifest.
    Manifest(ManifestReply),
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
    /// What all targets together may do to one host.
    pub gate: Arc<HostGate>,
}

impl RequestSender {
    /// Whether a correction may begin now.
    #[must_use]
    pub fn may_begin(&self) -> bool {
        !self.stop.is_cancelled() && self.may_go_on()
    }

    /// Whether a correction whose first request was sent may go on: also while the program ends.
    fn may_go_on(&self) -> bool {
        !self.term.is_cancelled() && self.leadership.renewed_within(FRESH_LEASE)
    }

    /// Whether the credential of every request is there: asked before anything is written or sent for the first.
    ///
    /// # Errors
    /// Why one is not, without its value.
    pub fn check_credentials(&self, requests: &Requests<'_>) -> Result<(), String> {
        let (rendering, options) = match &requests.means {
            Means::Http { rendering, options, .. } => (rendering, options),
            Means::Sql(statements) => return statements.check_connection(),
            Means::Job(_) | Means::Nudge(_) | Means::Manifest(_) => return Ok(()),
        };
        let lacking = rendering.probes().find_map(|probe| match self.sender.has_credential(&probe, options) {
            Err(HttpFailure::CredentialUnavailable(cause)) => Some(cause),
            _ => None,
        });
        lacking.map_or(Ok(()), Err)
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
    pub async fn send(&self, requests: &mut Requests<'_>, begins: bool, held: &mut HeldHosts) -> Sent {
        if let Means::Job(job) = &mut requests.means {
            return self.run_job(job, begins).await;
        }
        let all = requests;
        let requests = &*all;
        let host = match &requests.means {
            Means::Http { ready: Some(request), .. } => request.host(),
            Means::Sql(statements) => statements.host().unwrap_or_default(),
            Means::Manifest(manifests) => manifests.host(),
            Means::Nudge(nudge) => return self.send_to_api_server(nudge, begins).await,
            Means::Http { ready: None, .. } | Means::Job(_) => return Sent::NotSent,
        };
        let entered = match held.place.take().filter(|place| place.host == host) {
            Some(place) => Some(place),
            None if begins => self.enter_first(host.clone(), requests.concurrent).await,
            None => self.enter(host.clone(), requests.concurrent).await,
        };
        let may_send = if begins { self.may_begin() } else { self.may_go_on() };
        // Asked after the wait for a place, which may have been long.
        let Some(mut place) = entered.filter(|_| may_send) else { return Sent::NotSent };
        place.permit.take_over(held.probes.remove(&host));
        // A pause that began since the first write does not cut a correction in two.
        if self.gate.begin(&mut place.permit, clock::now()).is_err() && begins {
            return Sent::NotSent;
        }
        let note = |heard| self.gate.note(&place.permit, &requests.object, heard, clock::now());
        let (request, options) = match &requests.means {
            Means::Http { ready: Some(request), options, .. } => (request, options),
            Means::Http { ready: None, .. } | Means::Job(_) | Means::Nudge(_) => return Sent::NotSent,
            Means::Sql(statements) => {
                let done = self.while_leading(statements.send(&self.databases)).await;
                return told(done, note);
            }
            Means::Manifest(manifests) => return told(self.while_leading(manifests.send()).await, note),
        };
        let progress = ExchangeProgress::default();
        let sending = self.sender.send(request, options, &progress);
        let answered = match self.while_leading(before_deadline(STEP_DEADLINE, &progress, pin!(sending))).await {
            None => Sent::CutOff,
            Some(None) => {
                progress.heard().map(note);
                Sent::Unanswered(Doubt::TimedOut)
            }
            Some(Some(answer)) => {
                heard(&answer, clock::wall()).map(note);
                answer.map_or_else(
                    |failure| Sent::Unanswered(doubt(&host, &failure)),
                    |reply| Sent::Answered(Reply::Http(reply)),
                )
            }
        };
        all.keep_secret(&progress.sent());
        answered
    }

    /// Sends to the API server, which has no host to wait for: the program's calls there have one limit.
    async fn send_to_api_server(&self, nudge: &NudgeRequest<'_>, begins: bool) -> Sent {
        let slot = tokio::select! {
            biased;
            () = self.term.cancelled() => return Sent::NotSent,
            slot = nudge.writer.slots.enter() => slot,
        };
        let may_send = if begins { self.may_begin() } else { self.may_go_on() };
        if !may_send {
            return Sent::NotSent;
        }
        let reply = self.while_leading(nudge.send(&slot)).await;
        reply.map_or(Sent::CutOff, |reply| Sent::Answered(Reply::Nudge(reply)))
    }

    /// Does a step of a Job. When the program is to end a Job that was begun is left to the next: it may take hours, and its
    /// name is known.
    async fn run_job(&self, job: &mut JobRequest<'_>, begins: bool) -> Sent {
        // Who only looks writes nothing that another leader could not write too.
        let may_send = if begins { self.may_begin() } else { !self.term.is_cancelled() };
        if !may_send {
            return Sent::NotSent;
        }
        let reply = tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            reply = self.while_leading(job.send()) => reply,
        };
        match reply {
            Some(reply) => Sent::Answered(Reply::Job(reply)),
            None if job.begins_job() => Sent::CutOff,
            None => Sent::NotSent,
        }
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

/// What became of a request that was cut off where it gave nothing; `note` takes what it heard.
fn told(done: Option<(Sent, Option<Heard>)>, note: impl FnOnce(Heard)) -> Sent {
    let Some((sent, heard)) = done else { return Sent::CutOff };
    heard.map(note);
    sent
}

fn doubt(host: &str, failure: &HttpFailure) -> Doubt {
    match failure {
        HttpFailure::Unreachable(cause) => {
            tracing::warn!(host, "a correction got no answer: {cause}");
            Doubt::NoAnswer
        }
        HttpFailure::CredentialUnavailable(cause) => {
            tracing::warn!(host, "a correction was not sent: {cause}");
            Doubt::CredentialUnavailable
        }
        failure @ (HttpFailure::TokenRefused(_)
        | HttpFailure::TokenUnavailable(_)
        | HttpFailure::TokenPaused { .. }) => {
            tracing::warn!(host, "a correction was not sent: {failure}");
            Doubt::TokenUnavailable
        }
        refused @ HttpFailure::AddressRefused { .. } => {
            tracing::warn!("a correction was not sent: {refused}");
            Doubt::AddressRefused
        }
    }
}
