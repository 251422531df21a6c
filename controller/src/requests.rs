//! The requests of a correction, sent one by one to the external system.
//!
//! All are rendered before the first is sent, so that a template that fails changes nothing outside. Each answer is
//! judged by the core. This file must not know of conditions, claims or objects beyond what the templates see.

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
use drift_target::cel::Variables;
use drift_target::{Destination, HttpCorrect, HttpStep, Target};
use http::HeaderName;
use http::HeaderValue;
use tokio_util::sync::CancellationToken;

use held_hosts::{HeldHosts, HostPlace};

use crate::core::claim::Action;
use crate::core::correction::Correction;
use crate::core::outcome::{Doubt, StepOutcome, judge};

/// The deadline of one step: what a healthy system needs with a margin of a hundred, and what people still wait for.
pub const STEP_DEADLINE: Duration = Duration::from_secs(10);

/// How recent the last renewal of our Lease must be when a step is sent: with the step's deadline cut at the loss of
/// the Lease, nothing of ours is under way when another may begin.
pub const FRESH_LEASE: Duration = Duration::from_secs(5);

/// How often it is asked whether we still lead while a request is under way and nothing comes: the Lease is stale for
/// at most this long before the request is cut off.
const LOOK_AT_LEASE: Duration = Duration::from_millis(500);

/// How much of an answer is read: only its status counts, and reading it all keeps the connection for the next.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The header by which an external system knows a request that it has seen.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The requests of one correction, rendered.
#[derive(Debug)]
pub struct RenderedRequests<'a> {
    object: Uid,
    /// What the target allows at once.
    concurrent: u32,
    options: HttpOptions<'a>,
    steps: Vec<(HttpRequest, &'a HttpStep)>,
}

/// A template cannot be evaluated for the object. Nothing was sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unrenderable(pub String);

/// Renders the requests of a correction, with their idempotency keys.
///
/// # Errors
/// When a template cannot be evaluated for this object, or the target has no such steps.
pub fn render<'a>(
    target: &'a Target,
    object: &LeanObject,
    correction: &Correction,
) -> Result<RenderedRequests<'a>, Unrenderable> {
    let unrenderable = |error: &dyn std::fmt::Display| Unrenderable(error.to_string());
    let Some(Destination::Http(http)) = &target.correct.destination else {
        return Err(Unrenderable("correct has no steps".to_owned()));
    };
    let steps = steps_of(http, correction.action);
    if steps.is_empty() {
        return Err(Unrenderable(format!("correct has no {}", correction.action.as_str())));
    }
    let wished = match target.wish_of(&object.view) {
        Ok(wished) => Some(wished),
        // A deletion wishes for nothing, so it fails only where a step reads what cannot be told.
        Err(_) if correction.action == Action::Delete => None,
        Err(error) => return Err(unrenderable(&error)),
    };
    let variables = Variables {
        object: &object.view,
        response: None,
        item: None,
        steps: None,
        desired: wished.as_ref().map(|wished| &wished.desired),
        correction: Some(correction.number),
    };
    let rendered = steps.iter().enumerate().map(|(index, step)| {
        let mut request = step.request.render(&variables).map_err(|error| unrenderable(&error))?;
        let key = correction.idempotency_key(&object.id.uid, index);
        let key = HeaderValue::from_str(&key).map_err(|error| unrenderable(&error))?;
        request.headers.insert(IDEMPOTENCY_KEY, key);
        Ok((request, step))
    });
    let steps = rendered.collect::<Result<_, _>>()?;
    let (concurrent, options) = (target.correct.limits.concurrent, options_of(target, http));
    Ok(RenderedRequests { object: object.id.uid.clone(), concurrent, options, steps })
}

fn steps_of(http: &HttpCorrect, action: Action) -> &[HttpStep] {
    match action {
        Action::Create => &http.create,
        Action::Update => &http.update,
        Action::Delete => &http.delete,
    }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It was answered, or is known to stay without an answer.
    Answered(StepOutcome),
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

impl RenderedRequests<'_> {
    /// How many there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub const fn len(&self) -> usize {
        self.steps.len()
    }

    /// The host of the first.
    #[must_use]
    pub fn first_host(&self) -> Option<String> {
        self.steps.first().map(|(request, _)| request.host())
    }

    /// The hosts of all.
    #[must_use]
    pub fn hosts(&self) -> BTreeSet<String> {
        self.steps.iter().map(|(request, _)| request.host()).collect()
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
    pub fn has_credentials(&self, rendered: &RenderedRequests<'_>) -> bool {
        rendered.steps.iter().all(|(request, _)| match self.sender.has_credential(request, &rendered.options) {
            Err(HttpFailure::CredentialUnavailable(cause)) => {
                tracing::warn!(host = request.host(), "a correction is not begun: {cause}");
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

    /// Sends the request of this index, with what is held of its host.
    pub async fn send(&self, rendered: &RenderedRequests<'_>, index: usize, held: &mut HeldHosts) -> Sent {
        let Some((request, step)) = rendered.steps.get(index) else { return Sent::NotSent };
        let host = request.host();
        let entered = match held.place.take().filter(|place| place.host == host) {
            Some(place) => Some(place),
            None if index == 0 => self.enter_first(host.clone(), rendered.concurrent).await,
            None => self.enter(host.clone(), rendered.concurrent).await,
        };
        let may_send = if index == 0 { self.may_begin() } else { self.may_go_on() };
        // Asked after the wait for a place, which may have been long.
        let Some(mut place) = entered.filter(|_| may_send) else { return Sent::NotSent };
        place.permit.take_over(held.probes.remove(&host));
        // A pause that began since the first request does not cut a correction in two.
        if self.gate.begin(&mut place.permit, clock::now()).is_err() && index == 0 {
            return Sent::NotSent;
        }
        let note = |heard| self.gate.note(&place.permit, &rendered.object, heard, clock::now());
        let progress = ExchangeProgress::default();
        let sent = tokio::time::timeout(STEP_DEADLINE, self.sender.send(request, &rendered.options, &progress));
        match self.while_leading(sent).await {
            None => Sent::CutOff,
            Some(Err(_)) => {
                progress.heard().map(note);
                Sent::Answered(in_doubt(Doubt::TimedOut))
            }
            Some(Ok(answer)) => {
                heard(&answer, clock::wall()).map(note);
                Sent::Answered(judge_answer(&host, step, answer))
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

fn judge_answer(host: &str, step: &HttpStep, answer: Result<HttpReply, HttpFailure>) -> StepOutcome {
    match answer {
        Err(HttpFailure::Unreachable(cause)) => {
            tracing::warn!(host, "a correction got no answer: {cause}");
            in_doubt(Doubt::NoAnswer)
        }
        Err(HttpFailure::CredentialUnavailable(cause)) => {
            tracing::warn!(host, "a correction was not sent: {cause}");
            in_doubt(Doubt::CredentialUnavailable)
        }
        Err(failure @ (HttpFailure::TokenRefused(_) | HttpFailure::TokenUnavailable(_))) => {
            tracing::warn!(host, "a correction was not sent: {failure}");
            in_doubt(Doubt::TokenUnavailable)
        }
        Err(refused @ HttpFailure::AddressRefused { .. }) => {
            tracing::warn!("a correction was not sent: {refused}");
            in_doubt(Doubt::AddressRefused)
        }
        Ok(HttpReply { status, headers, .. }) => {
            if !step.accept.contains(status.as_u16()) {
                tracing::warn!(host, status = status.as_u16(), "a step of a correction is not accepted");
            }
            judge(status.as_u16(), &step.accept, &step.done_on, retry_after(&headers, clock::wall()))
        }
    }
}

const fn in_doubt(why: Doubt) -> StepOutcome {
    StepOutcome::Indefinite { why, retry_after: None }
}
