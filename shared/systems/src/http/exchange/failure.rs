//! Reasons why no reply came, as fixed texts.
//!
//! The client's own errors contain URLs, addresses and data of the other side. Conditions, logs and metrics must not,
//! so errors are reduced to their kind here. This file sends nothing and retries nothing.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::guard::connect_errors::{describe_io, describe_tls, is_drop};
use crate::guard::dialling::AddressRefused;
use crate::guard::failure::SystemFailure;
use crate::refusal::ServerText;
use drift_api::secrets::labelled_secrets::CredentialError;

/// The reason for a missing reply. Contains no header, address or credential, and of a body only the sentence of a token
/// server that refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpFailure {
    /// DNS, connect or TLS failed, or the server states that it did not look at the request: certainly nothing was done.
    /// The text is fixed and contains no name, address or number.
    #[error("no connection: {0}")]
    NotConnected(String),
    /// A failure that every kind of system can have. An unreachable server may have done what was requested.
    #[error(transparent)]
    System(#[from] SystemFailure),
    /// The proxy opens no connection to the host: certainly nothing was done. The text names the proxy.
    #[error("no connection: {0}")]
    ProxyFailed(String),
    /// The request must not go through a proxy, for the reason in this fixed text. Nothing was sent.
    #[error("not sent through the proxy: {0}")]
    NotThroughProxy(&'static str),
    /// The token server rejects the credential, or may not get it. The request was not sent. No text here shows the words
    /// of the server, which are kept for the reason of a correction that sends nothing.
    #[error("credential: {0}")]
    TokenRefused(String, ServerText),
    /// The token server returns no token, for a reason unrelated to the credential. The request was not sent.
    #[error("no token: {0}")]
    TokenUnavailable(String),
    /// The token server failed recently and is paused. The request was not sent.
    #[error("no token: {cause}")]
    TokenPaused {
        /// The reason of the failure.
        cause: String,
        /// The remaining pause.
        wait: Duration,
    },
}

/// Prefix of hyper-util's errors of a CONNECT.
const TUNNEL: &str = "tunnel error: ";

impl From<CredentialError> for HttpFailure {
    fn from(error: CredentialError) -> Self {
        Self::System(error.into())
    }
}

impl HttpFailure {
    /// Converts the error of a request to this host, through this proxy if there is one.
    pub(in crate::http) fn of(error: &reqwest::Error, host: String, proxy: Option<&str>) -> Self {
        if causes(error).any(|cause| cause.is::<AddressRefused>()) {
            return SystemFailure::AddressRefused { host: proxy.map_or(host, str::to_owned) }.into();
        }
        if let Some(failure) = proxy.and_then(|proxy| of_proxy(error, proxy)) {
            return failure;
        }
        let text = describe(error);
        let is_unsent = error.is_connect() || error.is_dns() || error.is_builder() || was_not_looked_at(error);
        if is_unsent { Self::NotConnected(text.to_owned()) } else { SystemFailure::Unreachable(text).into() }
    }
}

/// Returns the failure of a proxy. Only the texts of hyper-util's error are public.
fn of_proxy(error: &reqwest::Error, proxy: &str) -> Option<HttpFailure> {
    let text = causes(error).map(ToString::to_string).find(|text| text.starts_with(TUNNEL))?;
    let text = match text.trim_start_matches(TUNNEL) {
        "proxy authorization required" => {
            format!("the proxy {proxy} refuses the connection: 407: it wants another credential")
        }
        "unsuccessful" => format!("the proxy {proxy} refuses the connection, for a reason that its log has"),
        "failed to create underlying connection" => format!("the proxy {proxy} cannot be reached: {}", describe(error)),
        _ => format!("the proxy {proxy} gives no valid answer to CONNECT"),
    };
    Some(HttpFailure::ProxyFailed(text))
}

/// Returns true if the request was sent on an open connection, which ended before a response.
pub(in crate::http) fn was_dropped_unanswered(error: &reqwest::Error) -> bool {
    !error.is_connect()
        && causes(error).any(|cause| {
            cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message)
                || cause.downcast_ref::<io::Error>().is_some_and(|error| is_drop(error.kind()))
        })
}

/// Returns true if an HTTP/2 server states that it did not process the request: it is going away, or accepts no more on
/// that connection (RFC 9113, 8.7).
pub(in crate::http) fn was_not_looked_at(error: &reqwest::Error) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<h2::Error>()).any(|error| {
        let goes_away = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
        let refuses = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (goes_away || refuses)
    })
}

fn describe(error: &reqwest::Error) -> &'static str {
    if error.is_dns() {
        return "the name cannot be resolved";
    }
    if let Some(text) = causes(error).find_map(|cause| cause.downcast_ref()).map(describe_tls) {
        return text;
    }
    let mut of_io = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    if let Some(text) = of_io.find_map(|error| describe_io(error.kind())) {
        return text;
    }
    match error.is_connect() {
        true if error.is_timeout() => "connecting took too long",
        true => "connecting failed",
        false if error.is_builder() => "the request cannot be built",
        false if was_dropped_unanswered(error) => "the connection was closed before an answer came",
        false => "the answer is not HTTP",
    }
}

/// The error's causes, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause_of(*error))
}

/// Returns the source of an error. An `io::Error` hides its wrapped error from `source`, so that one is looked
/// up by hand.
fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
