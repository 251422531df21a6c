//! Sends the HTTP requests of a correction with the guarded client.
//!
//! The engine renders the requests and judges the responses.

use std::pin::pin;
use std::sync::Arc;

use drift_api::requests::http_request::HttpRequest;
use drift_kube::process::clock;
use drift_language::{Expression, Format, HttpCorrect, STEP_TIMEOUT, Target};
use drift_systems::{
    ExchangeProgress, HttpFailure, HttpOptions, HttpReply, HttpSender, SystemFailure, before_deadline,
    count_as_limited, credentials_of_correct, heard, retry_after,
};

use super::{SendContext, Sending, Sent, SystemRequests};
use crate::engine::StepAnswer;
use crate::engine::corrections::outcome::{Doubt, Uncertainty};
use crate::engine::rendering::{Plan, Rendering, Unrenderable};

/// Read limit of a response, equal to the default limit of a read. Of a larger response, only the status counts.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// HTTP requests of one correction with their options.
pub(super) struct HttpRequests<'a> {
    options: HttpOptions<'a>,
    limited_when: Option<&'a Expression>,
    /// Rendered requests of the correction.
    rendering: Rendering,
    /// Next request to send.
    ready: Option<HttpRequest>,
}

impl<'a> HttpRequests<'a> {
    pub(super) fn new(target: &'a Target, http: &'a HttpCorrect, rendering: Rendering) -> Self {
        let options = HttpOptions {
            auth: http.auth.as_ref(),
            tls: http.tls.as_ref(),
            allow_networks: &target.allow_networks,
            max_bytes: MAX_ANSWER_BYTES,
        };
        Self { options, limited_when: http.limited_when.as_ref(), rendering, ready: None }
    }

    fn judge(&mut self, index: usize, reply: &HttpReply) -> StepAnswer {
        let outcome = self.rendering.take_answer(index, reply, retry_after(&reply.headers, clock::wall()));
        let code = Some(reply.status.as_u16().into());
        StepAnswer { code, stored: self.rendering.take_stored(), ..StepAnswer::of(outcome) }
    }
}

impl SystemRequests for HttpRequests<'_> {
    fn plan(&self) -> Plan {
        self.rendering.plan()
    }

    fn hosts(&self) -> Vec<String> {
        self.rendering.probes().map(|probe| probe.host()).collect()
    }

    fn check_credentials(&self, sender: &HttpSender) -> Result<(), String> {
        let lacking = self.rendering.probes().find_map(|probe| match sender.has_credential(&probe, &self.options) {
            Err(HttpFailure::System(SystemFailure::CredentialUnavailable(cause))) => Some(cause),
            _ => None,
        });
        lacking.map_or(Ok(()), Err)
    }

    fn make_ready(&mut self, index: usize) -> Result<bool, Unrenderable> {
        self.ready = self.rendering.request(index)?;
        Ok(self.ready.is_some())
    }

    fn item_label(&self, index: usize) -> Option<Arc<str>> {
        self.rendering.item_label(index)
    }

    fn send<'s>(&'s mut self, index: usize, mut context: SendContext<'s>) -> Sending<'s> {
        Box::pin(async move {
            let Some(request) = &self.ready else { return Sent::NotSent };
            let host = request.host();
            let Some(place) = context.take_place(&host).await else { return Sent::NotSent };
            let progress = ExchangeProgress::default();
            let deadline = self.rendering.timeout(index).unwrap_or(STEP_TIMEOUT);
            let answer = {
                let sending = pin!(context.sender.sender.send(request, &self.options, &progress));
                context.sender.while_leading(before_deadline(deadline, &progress, sending)).await
            };
            // Adds secrets that were sent in addition to the known ones, so that no shown response repeats them.
            let sent = progress.sent().values(|secrets| credentials_of_correct(self.rendering.target(), secrets));
            self.rendering.keep_secret(&sent);
            match answer {
                None => Sent::CutOff,
                Some(None) => {
                    progress.heard().into_iter().for_each(|heard| context.note(&place, heard));
                    Sent::Unanswered(Uncertainty::unanswered(Doubt::TimedOut))
                }
                Some(Some(answer)) => {
                    let format = self.rendering.format(index).unwrap_or(&Format::Json);
                    let answer = answer.map(|reply| count_as_limited(reply, self.limited_when, format));
                    heard(&answer, clock::wall()).into_iter().for_each(|heard| context.note(&place, heard));
                    match answer {
                        Err(failure) => {
                            tell(context.target, &host, &failure);
                            Sent::Unanswered(self.rendering.judge_failure(&failure))
                        }
                        Ok(reply) => Sent::Answered(self.judge(index, &reply)),
                    }
                }
            }
        })
    }
}

/// Logs why a request got no response.
fn tell(target: &str, host: &str, failure: &HttpFailure) {
    match failure {
        HttpFailure::System(SystemFailure::Unreachable(cause)) => {
            tracing::warn!(target, host, "a correction got no answer: {cause}")
        }
        HttpFailure::NotConnected(cause) | HttpFailure::System(SystemFailure::CredentialUnavailable(cause)) => {
            tracing::warn!(target, host, "a correction was not sent: {cause}");
        }
        failure => tracing::warn!(target, host, "a correction was not sent: {failure}"),
    }
}
