//! Requests to an adapter, their responses as the poller sees them, and the expectations that these meet or not.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use drift_api::printable::printable;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::{Format, HttpRequest};
use drift_systems::{Answer, ExchangeProgress, HttpOptions, HttpSender, before_deadline};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use url::Url;

/// Deadline of one request: the default `timeout` of a poll and of a step.
const DEADLINE: Duration = Duration::from_secs(10);
/// Limit of one response: the default `maxBytes` of a read.
const MAX_BYTES: usize = 1 << 20;
/// Characters of a response that are printed: a few lines of a terminal.
const MAX_SHOWN: usize = 300;

/// A running adapter.
pub(super) struct Adapter {
    sender: HttpSender,
    base: Url,
    /// The header with the right token.
    pub(super) token: Option<HeaderValue>,
}

/// A request.
pub(super) struct Sent<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) token: Option<&'a HeaderValue>,
    pub(super) body: Option<String>,
}

/// A request and its response.
pub(super) struct Exchange {
    pub(super) sent: String,
    /// The response as templates see it, or the reason why none came.
    pub(super) came: Result<Value, String>,
}

/// The end of a rule that does not hold, or that cannot be tried.
#[derive(Debug)]
pub(super) enum Stop {
    Failed { sent: String, came: String, expected: String },
    Skipped(&'static str),
}

impl Adapter {
    /// Creates a client of the adapter at a URL.
    pub(super) fn new(base: Url, token: Option<HeaderValue>) -> Self {
        let secrets = Arc::new(ArcSwap::from_pointee(LabelledSecrets::default()));
        Self { sender: HttpSender::new(secrets, "kubectl-drift"), base, token }
    }

    /// Returns the URL with further parts of its path, each percent-encoded as in a target.
    pub(super) fn url(&self, parts: &[&str]) -> Url {
        let encoded = parts.iter().map(|part| format!("/{}", utf8_percent_encode(part, NON_ALPHANUMERIC)));
        let path = format!("{}{}", self.base.path().trim_end_matches('/'), encoded.collect::<String>());
        let mut url = self.base.clone();
        url.set_path(&path);
        url
    }

    /// Asks for its health, without the token.
    pub(super) async fn health(&self) -> Exchange {
        self.send(Sent { method: Method::GET, url: self.url(&["healthz"]), token: None, body: None }).await
    }

    /// Sends one request.
    pub(super) async fn send(&self, request: Sent<'_>) -> Exchange {
        let body = request.body.as_deref().unwrap_or_default();
        let sent = format!("{} {} {body}", request.method, request.url).trim_end().to_owned();
        let mut headers = HeaderMap::new();
        headers.extend(request.token.map(|token| (AUTHORIZATION, token.clone())));
        headers.extend(request.body.as_ref().map(|_| (CONTENT_TYPE, HeaderValue::from_static("application/json"))));
        let request = HttpRequest {
            method: request.method,
            url: request.url,
            headers: Arc::new(headers),
            body: request.body.map(String::into_bytes),
            has_chosen_host: false,
            socket: None,
        };
        let options = HttpOptions { auth: None, tls: None, allow_networks: &[], max_bytes: MAX_BYTES };
        let progress = ExchangeProgress::default();
        let exchange = std::pin::pin!(self.sender.send(&request, &options, &progress));
        let came = match before_deadline(DEADLINE, &progress, exchange).await {
            None => Err(format!("no response within {} s", DEADLINE.as_secs())),
            Some(Err(failure)) => Err(failure.to_string()),
            Some(Ok(reply)) => Answer::of(&reply, &Format::Json)
                .map(|answer| self.masked(answer.variable))
                .map_err(|error| format!("{} with a body that is cut off: {error}", reply.status)),
        };
        Exchange { sent, came }
    }

    /// Returns a response whose text does not repeat the token, because it may be printed.
    fn masked(&self, mut reply: Value) -> Value {
        let token = self.token.as_ref().and_then(|header| header.to_str().ok()?.strip_prefix("Bearer "));
        if let (Some(token), Some(text)) = (token, reply["text"].as_str()) {
            reply["text"] = Value::from(text.replace(token, "(token)"));
        }
        reply
    }
}

impl Exchange {
    /// Returns the response if it is as expected.
    pub(super) fn expect(self, expected: impl Into<String>, holds: impl FnOnce(&Value) -> bool) -> Result<Value, Stop> {
        match self.came {
            Ok(reply) if holds(&reply) => Ok(reply),
            came => {
                let came = came.map_or_else(|why| why, |reply| shown(&reply));
                Err(Stop::Failed { sent: self.sent, came, expected: expected.into() })
            }
        }
    }
}

/// The status and the beginning of the body, safe for a terminal.
fn shown(reply: &Value) -> String {
    let text = reply["text"].as_str().unwrap_or_default();
    let begins: String = text.chars().take(MAX_SHOWN).collect();
    format!("{} {}", reply["status"], printable(begins.trim_end())).trim_end().to_owned()
}
