//! The requests of a correction, sent one by one to the external system.
//!
//! What they are and what their answers mean is the core's to say. This file must not know of conditions, claims or objects beyond what the templates see.

pub mod held_hosts;

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use drift_cluster::lease::Leadership;
use drift_cluster::process::clock;
use drift_model::http_request::HttpRequest;
use drift_model::identity::Uid;
use drift_model::object::LeanObject;
use drift_outside::{ExchangeProgress, HostGate, HttpFailure, HttpOptions, HttpReply, HttpSender, heard, retry_after};
use drift_target::{Destination, HttpCorrect, Target};
use tokio_util::sync::CancellationToken;

use held_hosts::{HeldHosts, HostPlace};

use crate::core::correction::Correction;
use crate::core::execution::Rendered;
use crate::core::outcome::Doubt;
use crate::core::rendering::{Rendering, Unrenderable};

/// The deadline of one step: what a healthy system needs with a margin of a hundred, and what people still wait for.
pub const STEP_DEADLINE: Duration = Duration::from_secs(10);

/// How recent the last renewal of our Lease must be when a step is sent: with the step's deadline cut at the loss of
/// the Lease, nothing of ours is under way when another may begin.
pub const FRESH_LEASE: Duration = Duration::from_secs(5);

/// How often it is asked whether we still lead while a request is under way and nothing comes: the Lease is stale for
/// at most this long before the request is cut off.
const LOOK_AT_LEASE: Duration = Duration::from_millis(500);

/// How much of an answer is read: as much as of a read where the target does not say. Of a larger one the status counts alone.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The requests of one correction, and what is said of each besides its content.
#[derive(Debug)]
pub struct Requests<'a> {
    object: Uid,
    /// What the target allows at once.
    concurrent: u32,
    options: HttpOptions<'a>,
    /// What each is made of.
    pub rendering: Rendering,
    /// The one that is to be sent next.
    ready: Option<HttpRequest>,
}

/// The requests of a correction, none of which was sent.
///
/// # Errors
/// When a template cannot be evaluated for this object, or the target has no such steps.
pub fn render<'a>(
    target: &'a Arc<Target>,
    object: &LeanObject,
    correction: &Correction,
) -> Result<Requests<'a>, Unrenderable> {
    let rendering = Rendering::new(target, object, correction)?;
    let Some(Destination::Http(http)) = &target.correct.destination else {
        return Err(Unrenderable::new("correct has no steps"));
    };
    let (concurrent, options) = (target.correct.limits.concurrent, options_of(target, http));
    Ok(Requests { object: object.id.uid.clone(), concurrent, options, rendering, ready: None })
}

fn options_of<'a>(target: &'a Target, http: &'a HttpCorrect) -> HttpOptions<'a> {
    HttpOptions {
        auth: http.auth.as_ref(),
        tls: http.tls.as_ref(),
        allow_networks: &target.allow_networks,
        max_bytes: MAX_ANSWER_BYTES,
    }
}

/// What became of a request.
#[derive(Clone, Debug)]
pub enum Sent {
    /// It was answered.
    Answered(HttpReply),
    /// It is known to stay without an answer.
    Unanswered(Doubt),
    /// It was under way when the Lease was lost or the time to drain was over.
    CutOff,
    /// It was not sent: the program ends, the Lease is not fresh, or the host is to be left alone since just now.
    NotSent,
}

/// Sends requests while we lead.
#[derive(Clone, Debug)]
pub struct RequestSender {
    /// The way to the external systems.
    pub sender: HttpSender,
    /// Whether we lead, asked before each request and while it is under way.
    pub leadership: Leadership,
    /// Cancelled when we do not any more: what is under way is cut off.
    pub term: CancellationToken,
    /// Cancelled when the program is to end: what was begun goes on, but nothing further begins.
    pub stop: CancellationToken,
    /// What all targets together may do to one host.
    pub gate: Arc<HostGate>,
}

impl Requests<'_> {
    /// The host of the first.
    #[must_use]
    pub fn first_host(&self) -> Option<String> {
        self.rendering.probes().next().map(|probe| probe.host())
    }

    /// Renders the request of this step, to be sent next.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object and the answers so far.
    pub fn render_next(&mut self, index: usize) -> Result<Rendered, Unrenderable> {
        self.ready = self.rendering.request(index)?;
        Ok(if self.ready.is_some() { Rendered::Ready } else { Rendered::Skipped })
    }

    /// The hosts of all.
    #[must_use]
    pub fn hosts(&self) -> BTreeSet<String> {
        self.rendering.probes().map(|probe| probe.host()).collect()
    }
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
    #[must_use]
    pub fn has_credentials(&self, requests: &Requests<'_>) -> bool {
        requests.rendering.probes().all(|probe| match self.sender.has_credential(&probe, &requests.options) {
            Err(HttpFailure::CredentialUnavailable(cause)) => {
                tracing::warn!(host = probe.host(), "a correction is not begun: {cause}");
                false
            }
            _ => true,
        })
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
    pub async fn send(&self, requests: &Requests<'_>, begins: bool, held: &mut HeldHosts) -> Sent {
        let Some(request) = &requests.ready else { return Sent::NotSent };
        let host = request.host();
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
        let progress = ExchangeProgress::default();
        let sent = tokio::time::timeout(STEP_DEADLINE, self.sender.send(request, &requests.options, &progress));
        match self.while_leading(sent).await {
            None => Sent::CutOff,
            Some(Err(_)) => {
                progress.heard().map(note);
                Sent::Unanswered(Doubt::TimedOut)
            }
            Some(Ok(answer)) => {
                heard(&answer, clock::wall()).map(note);
                answer.map_or_else(|failure| Sent::Unanswered(doubt(&host, &failure)), Sent::Answered)
            }
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
        failure @ (HttpFailure::TokenRefused(_) | HttpFailure::TokenUnavailable(_)) => {
            tracing::warn!(host, "a correction was not sent: {failure}");
            Doubt::TokenUnavailable
        }
        refused @ HttpFailure::AddressRefused { .. } => {
            tracing::warn!("a correction was not sent: {refused}");
            Doubt::AddressRefused
        }
    }
}

/// When the answer asks to be left alone for a while.
#[must_use]
pub fn asked_for(reply: &HttpReply) -> Option<Duration> {
    retry_after(&reply.headers, clock::wall())
}
