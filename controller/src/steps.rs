//! The steps of a correction, sent one after the other to the external system.
//!
//! All are rendered before the first is sent, so that a template that fails changes nothing outside. Each answer is
//! judged by the core. This file must not know of conditions, claims or objects beyond what the templates see.

use std::sync::Arc;
use std::time::Duration;

use drift_cluster::lease::Leadership;
use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::http_request::{HttpRequest, host_and_port};
use drift_model::identity::Uid;
use drift_model::moment::Moment;
use drift_model::object::LeanObject;
use drift_outside::{
    Heard, HostGate, HttpFailure, HttpOptions, HttpReply, HttpSender, Permit, asked_pause, retry_after,
};
use drift_target::cel::Variables;
use drift_target::{HttpCorrect, HttpStep, Target};
use http::HeaderName;
use http::HeaderValue;
use tokio_util::sync::CancellationToken;

use crate::core::claim::Action;
use crate::core::correction::Correction;
use crate::core::outcome::{Doubt, Outcome, StepOutcome, judge};

/// The deadline of one step: what a healthy system needs with a margin of a hundred, and what people still wait for.
pub const STEP_DEADLINE: Duration = Duration::from_secs(10);

/// How recent the last renewal of our Lease must be when a step is sent: with the step's deadline cut at the loss of
/// the Lease, nothing of ours is under way when another may begin.
pub const FRESH_LEASE: Duration = Duration::from_secs(5);

/// How much of an answer is read: only its status counts, and reading it all keeps the connection for the next.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The header by which an external system knows a request that it has seen.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The steps of one correction, rendered.
#[derive(Debug)]
pub struct RenderedSteps<'a> {
    object: Uid,
    /// What the target allows at once.
    concurrent: u32,
    http: &'a HttpCorrect,
    steps: Vec<(HttpRequest, &'a HttpStep)>,
}

/// A template cannot be evaluated for the object. Nothing was sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unrenderable(pub String);

/// Renders the steps of a correction, with their idempotency keys.
///
/// # Errors
/// When a template cannot be evaluated for this object, or the target has no such steps.
pub fn render<'a>(
    target: &'a Target,
    object: &LeanObject,
    correction: &Correction,
) -> Result<RenderedSteps<'a>, Unrenderable> {
    let unrenderable = |error: &dyn std::fmt::Display| Unrenderable(error.to_string());
    let http = target.correct.http.as_ref().ok_or_else(|| Unrenderable("correct has no steps".to_owned()))?;
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
        desired: wished.as_ref().map(|wished| &wished.desired),
        correction: Some(correction.number),
    };
    let rendered = steps.iter().enumerate().map(|(index, step)| {
        let mut request = step.render(&variables).map_err(|error| unrenderable(&error))?;
        let key = correction.idempotency_key(&object.id.uid, index);
        let key = HeaderValue::from_str(&key).map_err(|error| unrenderable(&error))?;
        request.headers.insert(IDEMPOTENCY_KEY, key);
        Ok((request, step))
    });
    let concurrent = target.correct.limits.concurrent;
    Ok(RenderedSteps { object: object.id.uid.clone(), concurrent, http, steps: rendered.collect::<Result<_, _>>()? })
}

fn steps_of(http: &HttpCorrect, action: Action) -> &[HttpStep] {
    match action {
        Action::Create => &http.create,
        Action::Update => &http.update,
        Action::Delete => &http.delete,
    }
}

fn options_of(http: &HttpCorrect) -> HttpOptions<'_> {
    HttpOptions { auth: http.auth.as_ref(), tls: http.tls.as_ref(), max_bytes: MAX_ANSWER_BYTES }
}

/// A place among the requests to one host.
#[derive(Debug)]
pub struct HostPlace {
    host: String,
    permit: Permit,
}

/// Sends steps while we lead.
#[derive(Clone, Debug)]
pub struct StepSender {
    /// The way to the external systems.
    pub sender: HttpSender,
    /// Whether we lead, asked before each step.
    pub leadership: Leadership,
    /// Cancelled when we do not any more: what is under way is cut off.
    pub term: CancellationToken,
    /// Cancelled when the program is to end: what is under way goes on, but nothing further begins.
    pub stop: CancellationToken,
    /// What all targets together may do to one host.
    pub gate: Arc<HostGate>,
}

impl StepSender {
    /// Whether a step may be sent now.
    #[must_use]
    pub fn may_act(&self) -> bool {
        !self.stop.is_cancelled() && !self.term.is_cancelled() && self.leadership.renewed_within(FRESH_LEASE)
    }

    /// Until when a host that one of the steps needs asked to be left alone; `None` where all may begin.
    #[must_use]
    pub fn paused_until(&self, rendered: &RenderedSteps<'_>, now: Moment) -> Option<Moment> {
        let steps = rendered.steps.iter();
        steps.filter_map(|(request, _)| Some(self.gate.paused(&host_and_port(&request.url), now)?.until)).max()
    }

    /// Asks for the credential of every step before anything is written or sent for the first.
    ///
    /// # Errors
    /// The outcome where one is missing: nothing was sent.
    pub fn check_credentials(&self, rendered: &RenderedSteps<'_>) -> Result<(), Outcome> {
        let options = options_of(rendered.http);
        for (request, _) in &rendered.steps {
            if let Err(HttpFailure::CredentialUnavailable(cause)) = self.sender.has_credential(request, &options) {
                tracing::warn!(host = host_and_port(&request.url), "a correction is not begun: {cause}");
                let why = Doubt::CredentialUnavailable;
                return Err(Outcome::Doubtful { why, retry_after: None, step: 0 });
            }
        }
        Ok(())
    }

    /// Waits for a place at the host of the first step, which may take long: whoever judges the object after it judges
    /// what is to be sent at once. `None` where nothing can be rendered, or where we have to stop first.
    pub async fn take_place(&self, target: &Target, object: &LeanObject, correction: &Correction) -> Option<HostPlace> {
        let host = {
            let rendered = render(target, object, correction).ok()?;
            host_and_port(&rendered.steps.first()?.0.url)
        };
        self.enter(host, target.correct.limits.concurrent).await
    }

    /// Sends the steps in order; the first that is not accepted ends it. `place` is for the first one.
    pub async fn send(&self, rendered: &RenderedSteps<'_>, mut place: Option<HostPlace>) -> Outcome {
        for (index, (request, step)) in rendered.steps.iter().enumerate() {
            reach(KillPoint::ControllerBeforeStep);
            let outcome = self.send_step(rendered, (request, step), place.take()).await;
            reach(KillPoint::ControllerAfterStep);
            if let Some(ended) = Outcome::after_step(index, outcome) {
                return ended;
            }
        }
        Outcome::Applied
    }

    /// A place among the requests to the host; `None` where we have to stop first.
    async fn enter(&self, host: String, concurrent: u32) -> Option<HostPlace> {
        tokio::select! {
            biased;
            () = self.term.cancelled() => None,
            () = self.stop.cancelled() => None,
            permit = self.gate.enter(&host, concurrent) => Some(HostPlace { host, permit }),
        }
    }

    async fn send_step(
        &self,
        rendered: &RenderedSteps<'_>,
        (request, step): (&HttpRequest, &HttpStep),
        place: Option<HostPlace>,
    ) -> StepOutcome {
        let in_doubt = |why| StepOutcome::Indefinite { why, retry_after: None };
        let host = host_and_port(&request.url);
        let entered = match place.filter(|place| place.host == host) {
            Some(place) => Some(place),
            None => self.enter(host.clone(), rendered.concurrent).await,
        };
        // Asked after the wait for a place, which may have been long.
        let Some(mut place) = entered.filter(|_| self.may_act()) else { return in_doubt(Doubt::CutOff) };
        // A pause was asked for before the first step; one that began since does not cut a correction in two.
        let _ = self.gate.begin(&mut place.permit, clock::now());
        let note = |heard| self.gate.note(&place.permit, &rendered.object, heard, clock::now());
        let options = options_of(rendered.http);
        let sent = tokio::time::timeout(STEP_DEADLINE, self.sender.send(request, &options));
        let answer = tokio::select! {
            biased;
            () = self.term.cancelled() => return in_doubt(Doubt::CutOff),
            answer = sent => answer,
        };
        match answer {
            Err(_) => {
                note(Heard::TimedOut);
                in_doubt(Doubt::TimedOut)
            }
            Ok(Err(HttpFailure::Unreachable(cause))) => {
                note(Heard::Unreachable);
                tracing::warn!(host, "a correction got no answer: {cause}");
                in_doubt(Doubt::NoAnswer)
            }
            Ok(Err(HttpFailure::CredentialUnavailable(cause))) => {
                tracing::warn!(host, "a correction was not sent: {cause}");
                in_doubt(Doubt::CredentialUnavailable)
            }
            Ok(Ok(HttpReply { status, headers, .. })) => {
                if !step.accept.contains(status.as_u16()) {
                    tracing::warn!(host, status = status.as_u16(), "a step of a correction is not accepted");
                }
                note(asked_pause(status, &headers, clock::wall()).map_or(Heard::Answer, Heard::AskedToWait));
                judge(status.as_u16(), &step.accept, &step.done_on, retry_after(&headers, clock::wall()))
            }
        }
    }
}
