//! One request, as a server of ours recorded it.

use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path with its query, still percent-encoded.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The time at which it had been read completely.
    pub at: Instant,
    /// Which connection it came on, counted from 1.
    pub connection: u64,
}

impl Request {
    /// The first header with this name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).context("a request body that is no JSON")
    }
}
