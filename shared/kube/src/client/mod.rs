//! The connection to the API server, with a deadline for every call.
//!
//! kube's own retries of 429, 503 and 504 continue for minutes, so they are off. A call succeeds, fails or times out within its deadline, and the caller decides how to continue.

mod decode;
#[cfg(test)]
pub(crate) mod fake_api;
mod json_parts;
mod kind;
mod kubeconfig;
mod object_client;
mod object_names;
mod pages;
mod patch_body;
mod request_counts;
mod retry_after;

pub(crate) use decode::{Decode, LeanObjects, WatchAnswer, WholeObjects, parse_event};
pub use kind::{KindName, ResolvedKind};
pub use kubeconfig::KubeconfigSettings;
pub use object_client::{ObjectClient, WriteError};
pub(crate) use object_names::{NamedVersion, ObjectNames};
pub use pages::ObjectPages;
pub(crate) use pages::Pages;
pub(crate) use request_counts::RequestCounts;

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use drift_api::printable::printable;
use drift_language::SecretValues;
use drift_systems::RefusalReason;
use futures::AsyncReadExt;
use http::header::USER_AGENT;
use http::{HeaderValue, Response, StatusCode};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Status;
use tokio::sync::Notify;
use tower::layer::layer_fn;
use tower::util::MapResponseLayer;

/// The HTTP status of a missing right, and of a refusal by an admission policy.
pub const FORBIDDEN: u16 = 403;

/// Timeout of a connection attempt. A reachable API server responds in milliseconds, and a standby address must be
/// tried within the deadline of one call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Deadline of an ordinary call on one object: far above the milliseconds that a healthy API server needs, far below
/// the patience of people.
pub const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// Deadline of one page of a list: 500 large objects over a slow line.
pub const LIST_DEADLINE: Duration = Duration::from_secs(60);

/// Maximum bytes of one response or one event: several times the largest object that an API server accepts (3 MiB), and
/// a small part of a program's memory.
pub(crate) const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// Maximum characters of a cause. A chain of transport errors adds nothing new after that.
const MAX_CAUSE_CHARACTERS: usize = 300;

/// Part of the API server's message about a webhook. The words of the webhook follow.
const DENIED_BY_WEBHOOK: &str = " denied the request";

/// Part of the API server's message about a missing right. Refusals of admission name no user there.
pub(crate) const MISSING_RIGHT: &str = " is forbidden: User ";

/// The reason of a failed call to the API server.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No response within the deadline.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The response exceeds the maximum size.
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
    /// The API server responded with an error.
    #[error("{}", refusal_text(.0))]
    Answered(Box<Status>),
    /// The API server's response cannot be parsed.
    #[error("{0}")]
    Unreadable(String),
    /// The request did not reach the API server.
    #[error("{0}")]
    Transport(String),
}

impl CallError {
    /// Returns the HTTP status of the API server's response, if there was one.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Answered(status) => Some(status.code),
            Self::TimedOut(_) | Self::TooLarge(_) | Self::Unreadable(_) | Self::Transport(_) => None,
        }
    }

    /// Returns the same text for a write to another object or a Job, with the message of the API server, such as an
    /// exceeded quota or the rule of a policy. Webhooks and failed validations quote values, so their messages stay
    /// hidden.
    #[must_use]
    pub fn reason(&self) -> String {
        let Self::Answered(status) = self else { return self.to_string() };
        let is_missing_right = status.code == FORBIDDEN && status.message.contains(MISSING_RIGHT);
        let is_shown = status.code < 500 && !is_missing_right && !quotes_values(status);
        match RefusalReason::of_text(&status.message, &SecretValues::default()) {
            Some(said) if is_shown => format!("{}: {said}", words_of(status)),
            _ => self.to_string(),
        }
    }

    /// Returns true if there was no response at all. Other calls would probably get none either.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::Transport(_))
    }

    /// Returns true if a patch with a uid met another object of that name: a uid never changes.
    #[must_use]
    pub fn is_about_another(&self) -> bool {
        let Self::Answered(status) = self else { return false };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        status.code == 422 && causes.into_iter().any(|cause| cause.field == "metadata.uid")
    }

    /// Returns the pause that the API server asked for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let Self::Answered(status) = self else { return None };
        let seconds = status.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Returns the pause that the API server asked for on all calls: priority and fairness rejected the request, not a
    /// webhook. The response does not show if it came from an aggregated API server, which uses the same library. Its
    /// pause applies to all calls too.
    #[must_use]
    pub fn pause_of_all_calls(&self) -> Option<Duration> {
        let Self::Answered(status) = self else { return None };
        retry_after::is_too_busy(status).then(|| self.retry_after()).flatten()
    }

    /// Returns true if the same call may succeed later without any change: no response, 429, 502, 503, 504.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.code().is_none_or(|code| matches!(code, 408 | 429 | 502 | 503 | 504))
    }
}

/// A request that cannot be built.
impl From<kube::core::request::Error> for CallError {
    fn from(error: kube::core::request::Error) -> Self {
        Self::Transport(error.to_string())
    }
}

/// A request that cannot be built.
impl From<http::Error> for CallError {
    fn from(error: http::Error) -> Self {
        Self::Transport(error.to_string())
    }
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Answered(status),
            // Its text quotes the response.
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                Self::Unreadable("the answer is not what was asked for".to_owned())
            }
            kube::Error::Service(error) => Self::Transport(told_plainly(causes(error.as_ref()))),
            // The response had begun.
            kube::Error::ReadEvents(_) => Self::Unreadable(causes(&error)),
            other => Self::Transport(causes(&other)),
        }
    }
}

/// Prefix of the HTTP client's message for a missing connection.
const UNCONNECTED: &str = "client error (Connect): ";

/// Removes the HTTP client's own words if they only state that there is no connection.
fn told_plainly(cause: String) -> String {
    match cause.strip_prefix(UNCONNECTED) {
        Some(cause) => format!("the API server cannot be reached: {}", cause.trim_start_matches("tcp connect error: ")),
        None => cause,
    }
}

/// The reason why no client can be created.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Neither a kubeconfig nor a service account was found, or it cannot be read.
    #[error("cannot find the API server: set KUBECONFIG, or run in a pod with a service account: {0}")]
    NoConfiguration(String),
    /// The configuration names credentials or certificates that cannot be used.
    #[error("cannot use the kubeconfig or service account: {0}")]
    Unusable(String),
}

/// Selects rustls' ring provider for the whole process. Every `main` calls this first, because kube uses the process's
/// provider and panics without one.
pub fn install_crypto() {
    // An error means that one is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns the configuration from `KUBECONFIG`, `~/.kube/config` or the pod's service account. No request is sent. Only
/// a kubeconfig leads through a proxy.
///
/// # Errors
/// Fails if none of them exists.
#[expect(clippy::disallowed_methods, reason = "this is the place that all others call")]
pub async fn configuration() -> Result<kube::Config, ConnectError> {
    if let Ok(known) = Kubeconfig::read()
        && let Ok(config) = kubeconfig::loaded(known, &KubeConfigOptions::default()).await
    {
        return config;
    }
    kube::Config::infer().await.map_err(|error| ConnectError::NoConfiguration(causes(&error)))
}

/// Creates a client with this configuration. The audit log of the API server has `program` with its version.
///
/// # Errors
/// Fails if its credentials or certificates cannot be used.
pub fn client_of(config: kube::Config, program: &'static str) -> Result<kube::Client, ConnectError> {
    client_noting(config, program, ClientNotes::default())
}

/// What the parts of a program learn from the requests of a client. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientNotes {
    /// Notified of each response with status 403.
    pub(crate) forbidden: Arc<Notify>,
    /// Counts the requests.
    pub(crate) requests: RequestCounts,
}

/// Same as [`client_of`]. The requests are noted.
///
/// # Errors
/// Same as [`client_of`].
pub(crate) fn client_noting(
    mut config: kube::Config,
    program: &'static str,
    notes: ClientNotes,
) -> Result<kube::Client, ConnectError> {
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.default_retry = false;
    let agent = HeaderValue::from_str(&format!("{program}/{}", env!("CARGO_PKG_VERSION")));
    config.headers.extend(agent.map(|agent| (USER_AGENT, agent)));
    let builder = ClientBuilder::try_from(config).map_err(|error| ConnectError::Unusable(causes(&error)))?;
    let ClientNotes { forbidden, requests } = notes;
    let noted = move |answer: Response<_>| {
        if answer.status() == StatusCode::FORBIDDEN {
            forbidden.notify_one();
        }
        retry_after::with_status(answer)
    };
    let counting = layer_fn(move |service| requests.counting(service));
    Ok(builder.with_layer(&counting).with_layer(&MapResponseLayer::new(noted)).build())
}

/// Waits for a call, at most `deadline`.
///
/// # Errors
/// Fails if the call fails or times out. After a timeout it is unknown if the call took effect.
pub async fn within<T>(deadline: Duration, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, CallError> {
    match tokio::time::timeout(deadline, call).await {
        Ok(answer) => answer.map_err(CallError::from),
        Err(_) => Err(CallError::TimedOut(deadline)),
    }
}

/// Sends a request and parses the JSON response.
///
/// # Errors
/// Same as [`within`], and fails if the response is not such JSON. Unlike in kube, no part of a response is logged.
pub async fn request<T: serde::de::DeserializeOwned>(
    client: &kube::Client,
    deadline: Duration,
    request: http::Request<Vec<u8>>,
) -> Result<T, CallError> {
    let text = within(deadline, client.request_text(request)).await?;
    serde_json::from_str(&text).map_err(|error| CallError::from(kube::Error::SerdeError(error)))
}

/// Sends a request and reads a response of at most `limit` bytes.
///
/// # Errors
/// Same as [`within`], and [`CallError::TooLarge`].
pub(crate) async fn read_bytes(
    client: &kube::Client,
    deadline: Duration,
    request: http::Request<Vec<u8>>,
    limit: usize,
) -> Result<Vec<u8>, CallError> {
    let mut bytes = Vec::new();
    let read = async {
        let body = pin!(client.request_stream(request).await?);
        // Reads one byte more than allowed, to detect a larger response.
        let mut body = body.take(limit as u64 + 1);
        body.read_to_end(&mut bytes).await.map_err(kube::Error::ReadEvents)
    };
    within(deadline, read).await?;
    if bytes.len() > limit { Err(CallError::TooLarge(limit)) } else { Ok(bytes) }
}

/// Creates the error for an unexpected response. The error's own text would quote the response.
pub(crate) fn not_asked_for(error: serde_json::Error) -> CallError {
    CallError::from(kube::Error::SerdeError(error))
}

/// Returns the text of a refusal, without values of the object.
///
/// The API server quotes values in the messages of a failed validation, and admission webhooks may quote anything. So
/// only the fields and the name of the webhook are kept from those. The message of an admission policy is kept: the
/// author of the policy writes it for the client.
#[must_use]
pub fn refusal_text(status: &Status) -> String {
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    let fields: Vec<_> = causes.iter().map(|cause| format!("{} ({})", cause.field, cause.reason)).collect();
    let detail = if status.code == FORBIDDEN && status.message.contains(MISSING_RIGHT) {
        clipped(&status.message)
    } else if let Some((policy, said)) = denying_policy(&status.message) {
        clipped(&format!("the admission policy {policy} denies it: {}", printable(said)))
    } else if let Some((webhook, _)) = status.message.split_once(DENIED_BY_WEBHOOK) {
        format!("{}{DENIED_BY_WEBHOOK}", clipped(webhook))
    } else {
        fields.join(", ")
    };
    if detail.is_empty() { words_of(status) } else { format!("{}: {detail}", words_of(status)) }
}

/// Returns true if the message may quote values: that of a webhook or a failed validation.
fn quotes_values(status: &Status) -> bool {
    let is_invalid = status.code == 422 || status.reason == "Invalid";
    denying_policy(&status.message).is_none() && (is_invalid || status.message.contains(DENIED_BY_WEBHOOK))
}

/// Returns the code and the reason: `422 Invalid`.
fn words_of(status: &Status) -> String {
    let reason = if status.reason.is_empty() { "no reason given" } else { status.reason.as_str() };
    format!("{} {reason}", status.code)
}

/// Returns the name of the admission policy that refused, and the message of its rule. `None` for a policy in the words
/// of a webhook.
fn denying_policy(message: &str) -> Option<(&str, &str)> {
    let (before, rest) = message.split_once("ValidatingAdmissionPolicy '")?;
    if before.contains(DENIED_BY_WEBHOOK) {
        return None;
    }
    let (policy, rest) = rest.split_once('\'')?;
    let (_, said) = rest.split_once(" denied request: ")?;
    Some((policy, said))
}

/// Formats an error and its causes in one line.
pub(crate) fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        next = cause.source();
    }
    clipped(&text)
}

fn clipped(text: &str) -> String {
    text.chars().take(MAX_CAUSE_CHARACTERS).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(status: serde_json::Value) -> String {
        refusal_text(&serde_json::from_value(status).unwrap())
    }

    /// An API server that answers with the name under which its audit log has the client.
    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
    async fn the_api_server_sees_which_program_calls() {
        install_crypto();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let answer = async |headers: http::HeaderMap| match headers.get(USER_AGENT).and_then(|name| name.to_str().ok())
        {
            Some(name) => format!("\"{name}\""),
            None => "null".to_owned(),
        };
        let serving = axum::serve(listener, axum::Router::new().fallback(answer));
        let _task = tokio_util::task::AbortOnDropHandle::new(tokio::spawn(serving.into_future()));
        let client = client_of(kube::Config::new(address.parse().unwrap()), "drift-poller").unwrap();
        let call = http::Request::get("/version").body(Vec::new()).unwrap();
        let seen: Option<String> = request(&client, CALL_DEADLINE, call).await.unwrap();
        assert_eq!(seen, Some(format!("drift-poller/{}", env!("CARGO_PKG_VERSION"))));
    }

    #[test]
    fn a_refusal_never_quotes_a_value() {
        let invalid = json!({
            "code": 422, "reason": "Invalid", "message": "Proxy \"x\" is invalid: spec.password: Invalid value: \"hunter2\"",
            "details": {"name": "x", "causes": [
                {"reason": "FieldValueInvalid", "message": "Invalid value: \"hunter2\"", "field": "spec.password"}]}
        });
        assert_eq!(refusal(invalid), "422 Invalid: spec.password (FieldValueInvalid)");
        let webhook = json!({"code": 403, "reason": "Forbidden",
            "message": "admission webhook \"policy.example\" denied the request: hunter2 is too short"});
        assert_eq!(refusal(webhook), "403 Forbidden: admission webhook \"policy.example\" denied the request");
        assert_eq!(refusal(json!({"code": 500, "message": "hunter2"})), "500 no reason given");
    }

    #[test]
    fn a_policy_is_quoted_in_its_own_words() {
        let denied = |said: &str| {
            let message = format!(
                "proxies.demo \"a\" is forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'all' denied request: {said}"
            );
            refusal(json!({"code": 403, "reason": "Forbidden", "message": message}))
        };
        let expected = "403 Forbidden: the admission policy freeze denies it: change freeze until Monday (CHG-4711)";
        assert_eq!(denied("change freeze until Monday (CHG-4711)"), expected);
        assert!(!denied("a\u{1b}[2J").contains('\u{1b}'));
        assert!(denied(&"x".repeat(1000)).len() < 400);
    }

    #[test]
    fn the_message_about_another_object_is_kept() {
        let reason = |status| CallError::Answered(Box::new(serde_json::from_value(status).unwrap())).reason();
        let table = [
            (
                json!({"code": 422, "reason": "Invalid", "message": "Widget \"x\" is invalid: spec.size: Invalid value: 12: too large"}),
                "422 Invalid",
            ),
            (
                json!({"code": 422, "reason": "Invalid", "message": "Widget \"x\" is invalid: spec.size: Invalid value: 12",
                    "details": {"causes": [{"reason": "FieldValueInvalid", "field": "spec.size"}]}}),
                "422 Invalid: spec.size (FieldValueInvalid)",
            ),
            (
                json!({"code": 422, "reason": "Invalid", "message": "w \"x\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no 12"}),
                "422 Invalid: w \"x\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no 12",
            ),
            (
                json!({"code": 403, "reason": "Forbidden", "message": "jobs.batch \"x\" is forbidden: exceeded quota: q, requested: pods=1"}),
                "403 Forbidden: jobs.batch \"x\" is forbidden: exceeded quota: q, requested: pods=1",
            ),
            (
                json!({"code": 403, "reason": "Forbidden", "message": "admission webhook \"p\" denied the request: ValidatingAdmissionPolicy 'a' denied request: hunter2"}),
                "403 Forbidden: admission webhook \"p\" denied the request",
            ),
            (
                json!({"code": 403, "reason": "Forbidden", "message": "admission webhook \"p\" denied the request: change freeze"}),
                "403 Forbidden: admission webhook \"p\" denied the request",
            ),
            (json!({"code": 409, "reason": "Conflict"}), "409 Conflict"),
            (json!({"code": 500, "message": "hunter2"}), "500 no reason given"),
        ];
        for (status, expected) in table {
            assert_eq!(reason(status), expected);
        }
    }

    #[test]
    fn a_missing_right_is_said_in_full() {
        let text = refusal(json!({"code": 403, "reason": "Forbidden", "message":
            "proxies.demo \"a\" is forbidden: User \"system:serviceaccount:a:b\" cannot patch resource \"proxies/status\""}));
        assert!(text.contains("cannot patch resource"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_is_not_answered_is_silence() {
        let answers: [&[u8]; 3] = [b"<html>", b"", b"\xff"];
        for answer in answers {
            let (client, _) = fake_api::scripted(vec![http::Response::new(answer.into())]);
            let error = within(CALL_DEADLINE, client.apiserver_version()).await.unwrap_err();
            assert!(!error.is_silence(), "{error:?}");
            let silent = within(CALL_DEADLINE, client.apiserver_version()).await.unwrap_err();
            assert!(silent.is_silence(), "{silent:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_without_an_answer_ends_at_its_deadline() {
        let before = crate::process::clock::now();
        let answer = within(CALL_DEADLINE, std::future::pending::<Result<(), kube::Error>>()).await;
        assert!(matches!(answer, Err(CallError::TimedOut(CALL_DEADLINE))), "{answer:?}");
        assert_eq!(crate::process::clock::now() - before, CALL_DEADLINE);
    }
}
