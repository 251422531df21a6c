//! Correct and faulty responses to a request.

use std::time::Duration;

use serde_json::Value;

use super::hold::Hold;

/// A response. Methods that modify it return it, so that rules read as one sentence.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) content: Content,
    pub(super) headers: Vec<(String, String)>,
    pub(super) delay: Duration,
    pub(super) hold: Option<Hold>,
    pub(super) ending: Ending,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    Given { status: u16, body: Body },
    Forwarded,
    Stored,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Whole(Vec<u8>),
    /// Content-Length promises this many more bytes than are sent.
    Truncated(Vec<u8>, usize),
    /// This many bytes, generated on the fly, without a Content-Length.
    Streamed(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Keeps the connection open for the next request.
    KeptAlive,
    /// Closes the connection right after the response, without announcing it.
    Closed,
    /// Reads the next request on the same connection, then resets the connection without a response.
    ResetNext,
    /// Resets the connection without a response.
    Reset,
}

impl Answer {
    fn new(content: Content) -> Self {
        Self { content, headers: Vec::new(), delay: Duration::ZERO, hold: None, ending: Ending::KeptAlive }
    }

    fn given(status: u16, body: Body) -> Self {
        Self::new(Content::Given { status, body })
    }

    /// Returns a status without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::given(status, Body::Whole(Vec::new()))
    }

    /// Returns a JSON body.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", &body.to_string())
    }

    /// Returns an HTML page, like an ingress's 404.
    #[must_use]
    pub fn html(status: u16) -> Self {
        Self::text(status, "text/html", "<html><body><h1>default backend</h1></body></html>")
    }

    /// Returns a text with any content type.
    #[must_use]
    pub fn text(status: u16, content_type: &str, body: &str) -> Self {
        Self::given(status, Body::Whole(body.as_bytes().to_vec())).header("content-type", content_type)
    }

    /// Returns an incomplete JSON body: Content-Length promises `missing` more bytes, then the connection closes.
    #[must_use]
    pub fn truncated(status: u16, body: &str, missing: usize) -> Self {
        let body = Body::Truncated(body.as_bytes().to_vec(), missing);
        Self { ending: Ending::Closed, ..Self::given(status, body) }.header("content-type", "application/json")
    }

    /// Returns a JSON string of about this many bytes, without a Content-Length.
    #[must_use]
    pub fn streamed(status: u16, bytes: u64) -> Self {
        let answer = Self::given(status, Body::Streamed(bytes)).header("content-type", "application/json");
        Self { ending: Ending::Closed, ..answer }
    }

    /// Returns JSON arrays with this nesting depth.
    #[must_use]
    pub fn nested(status: u16, depth: usize) -> Self {
        Self::text(status, "application/json", &format!("{}{}", "[".repeat(depth), "]".repeat(depth)))
    }

    /// Returns the upstream's response.
    #[must_use]
    pub fn forwarded() -> Self {
        Self::new(Content::Forwarded)
    }

    /// Returns the response of the store of documents. See [`super::Outside::keep_documents`].
    #[must_use]
    pub fn stored() -> Self {
        Self::new(Content::Stored)
    }

    /// Resets the connection instead of a response. Nothing takes effect.
    #[must_use]
    pub fn reset() -> Self {
        Self { ending: Ending::Reset, ..Self::status(500) }
    }

    /// Sends nothing for a day, so the client's own deadline must end the request.
    #[must_use]
    pub fn never() -> Self {
        Self::status(500).after(Duration::from_secs(24 * 3600))
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Delays the response. A forwarded or stored request takes effect before the delay.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Delays the response until `hold` is released. A forwarded request takes effect before.
    #[must_use]
    pub fn held_by(mut self, hold: &Hold) -> Self {
        self.hold = Some(hold.clone());
        self
    }

    /// Resets the connection before the response, but the request takes effect (with [`Answer::forwarded`]).
    #[must_use]
    pub fn answer_lost(mut self) -> Self {
        self.ending = Ending::Reset;
        self
    }

    /// Closes the connection right after the response, without announcing it.
    #[must_use]
    pub fn then_close(mut self) -> Self {
        self.ending = Ending::Closed;
        self
    }

    /// Keeps the connection open, but resets it after reading the next request, like a stale pooled connection.
    #[must_use]
    pub fn then_reset_next(mut self) -> Self {
        self.ending = Ending::ResetNext;
        self
    }
}
