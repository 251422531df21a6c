//! What a request may meet at the gate.

use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

/// A fault of an API server, or of the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing comes and nothing is closed, which is how a dead connection looks. Answers under way are held too.
    Hold,
    /// An error as the API server's handlers write it, a `Status`.
    Refuse(u16),
    /// Refused by priority and fairness: 429 in plain text, and in a header after how many seconds to come again.
    TooMany(u64),
    /// A watch that ends after so long, since its version is forgotten (410 in an event).
    ExpireAfter(Duration),
    /// The connection breaks after so many bytes of the answer.
    CutAfter(usize),
    /// Of each event of a watch only the first half comes, as a line of its own.
    Garble,
    /// All of the answer comes so much later than it was sent; of a watch, each event.
    Late(Duration),
    /// A list as it was at this version: an API server that is behind.
    AsOf(String),
    /// A list in pages of so many objects, however many were asked for.
    PagesOf(usize),
}

impl Fault {
    /// The answer that is given without asking the API server.
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

    /// Path and query as they are asked for.
    pub(super) fn rewritten(&self, uri: &str) -> String {
        match self {
            // Pages after the first go on from the version in their token.
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

/// The event that ends a watch whose version is forgotten.
pub(super) fn expired() -> String {
    format!("{}\n", json!({"type": "ERROR", "object": status(410, "Expired")}))
}

fn status(code: u16, reason: &str) -> serde_json::Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": "by the gate of a test"})
}
