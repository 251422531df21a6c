//! Faults that the gate can apply to a request.

use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

/// A fault of an API server or of the connection to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Sends nothing and closes nothing, like a dead connection. Holds responses in progress too.
    Hold,
    /// Returns a `Status` error, as the API server's handlers do.
    Refuse(u16),
    /// Rejects by priority and fairness: 429 in plain text, with a `Retry-After` in seconds.
    TooMany(u64),
    /// Ends a watch after this time because its version is too old (410 in an event).
    ExpireAfter(Duration),
    /// Breaks the connection after this many bytes of the response.
    CutAfter(usize),
    /// Sends only the first half of each event of a watch, as a line of its own.
    Garble,
    /// Delays the whole response by this time. In a watch, delays each event.
    Late(Duration),
    /// Returns a list as it was at this version, like an API server that lags behind.
    AsOf(String),
    /// Returns a list in pages of this size, regardless of the requested limit.
    PagesOf(usize),
}

impl Fault {
    /// Returns the response that needs no request to the API server.
    pub(super) fn refusal(&self) -> Option<Response> {
        match self {
            Self::Refuse(code) => Some(refused(*code)),
            Self::TooMany(seconds) => {
                let headers = [(header::RETRY_AFTER, seconds.to_string())];
                let text = "Too many requests, please try again later.\n";
                Some((StatusCode::TOO_MANY_REQUESTS, headers, text).into_response())
            }
            _ => None,
        }
    }

    /// Returns the path and query for the API server.
    pub(super) fn rewritten(&self, uri: &str) -> String {
        match self {
            // Later pages continue from the version in their token.
            Self::AsOf(version) if !uri.contains("continue=") => {
                format!("{uri}&resourceVersion={version}&resourceVersionMatch=Exact")
            }
            Self::PagesOf(count) => {
                let part =
                    |part: &str| if part.starts_with("limit=") { format!("limit={count}") } else { part.to_owned() };
                uri.split('&').map(part).collect::<Vec<_>>().join("&")
            }
            _ => uri.to_owned(),
        }
    }
}

fn refused(code: u16) -> Response {
    let reason = if code == 410 { "Expired" } else { "InternalError" };
    let status = status(code, reason).to_string();
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (code, [(header::CONTENT_TYPE, "application/json")], Body::from(status)).into_response()
}

/// Returns the event that ends a watch with an expired version.
pub(super) fn expired() -> String {
    format!("{}\n", json!({"type": "ERROR", "object": status(410, "Expired")}))
}

fn status(code: u16, reason: &str) -> serde_json::Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": "by the gate of a test"})
}
