//! Sends the HTTP requests of a correction with the guarded client.

use std::pin::pin;
use std::time::Duration;

use drift_kube::process::clock;
use drift_language::{Destination, Format, HttpCorrect, HttpRequest, Target};
use drift_systems::{
    ExchangeProgress, HttpFailure, HttpOptions, SystemFailure, before_deadline, count_as_limited,
    credentials_of_correct, heard,
};

use super::{SendContext, Subject};
use crate::engine::execution::Event;
use crate::engine::rendering::Reply;

/// Read limit of a response, equal to the default limit of a read. Of a larger response, only the status counts.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// Returns the options of one of the target's requests, without the rule about its response.
pub(super) fn options<'a>(target: &'a Target, http: &'a HttpCorrect, request: &'a HttpRequest) -> HttpOptions<'a> {
    HttpOptions {
        auth: request.auth.as_deref(),
        unauthorized_when: None,
        tls: http.tls.as_ref(),
        proxy: http.proxy.as_ref(),
        has_open_host: http.has_open_host(),
        allow_networks: &target.allow_networks,
        max_bytes: MAX_ANSWER_BYTES,
    }
}

pub(super) async fn send(
    mut context: SendContext<'_>,
    request: &HttpRequest,
    deadline: Duration,
    format: &Format,
) -> Event {
    let target = context.target;
    let Some(Destination::Http(http)) = &target.correct.destination else { return Event::NotSent };
    let host = request.host();
    let Some(place) = context.take_place(&host).await else { return Event::NotSent };
    let unauthorized_when = http.unauthorized_when.as_ref().map(|rule| (rule, format));
    let options = HttpOptions { unauthorized_when, ..options(target, http, request) };
    let progress = ExchangeProgress::default();
    let answer = {
        let sending = pin!(context.sender.sender.send(request, &options, &progress));
        context.sender.while_leading(before_deadline(deadline, &progress, sending)).await
    };
    let Some(answer) = answer else { return Event::CutOff };
    let Some(answer) = answer else {
        progress.heard().into_iter().for_each(|heard| context.note(&place, heard));
        return Event::Replied(Reply::TimedOut { is_sent: true });
    };
    let response = answer.map(|reply| count_as_limited(reply, http.limited_when.as_ref(), format));
    heard(&response, clock::wall()).into_iter().for_each(|heard| context.note(&place, heard));
    if let Err(failure) = &response {
        tell(&context, &host, failure);
    }
    if context.begins {
        *context.place = Some(place);
    }
    let sent = progress.sent().values(|secrets| credentials_of_correct(target, secrets));
    Event::Replied(Reply::Http { response, sent })
}

/// Logs why a request got no response.
fn tell(context: &SendContext<'_>, host: &str, failure: &HttpFailure) {
    let Subject { target, kind, namespace, name, uid, correction } = context.subject();
    match failure {
        HttpFailure::System(SystemFailure::Unreachable(cause)) => {
            tracing::warn!(target, kind, namespace, name, uid, correction, host, %cause, "a correction got no answer");
        }
        HttpFailure::NotConnected(cause) | HttpFailure::System(SystemFailure::CredentialUnavailable(cause)) => {
            tracing::warn!(target, kind, namespace, name, uid, correction, host, %cause, "a correction was not sent");
        }
        cause => {
            tracing::warn!(target, kind, namespace, name, uid, correction, host, %cause, "a correction was not sent");
        }
    }
}
