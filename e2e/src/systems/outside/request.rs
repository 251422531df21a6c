//! A request that one of our servers recorded.

use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

/// A received request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method, such as `GET` or `POST`.
    pub method: String,
    /// The path with its query, still percent-encoded.
    pub path: String,
    /// Headers in the order of their arrival, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The request body.
    pub body: Vec<u8>,
    /// The time at which it was read completely.
    pub at: Instant,
    /// Number of its connection, counted from 1.
    pub connection: u64,
}

impl Request {
    /// Returns the first header with this name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).context("a request body that is no JSON")
    }
}
