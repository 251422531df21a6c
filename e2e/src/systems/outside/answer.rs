//! How one request is answered, well or badly.

use std::time::Duration;

use serde_json::Value;

use super::hold::Hold;

/// An answer; the methods that add something return it, so that rules read as one sentence.
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
    /// Content-Length promises this many bytes more than come.
    Truncated(Vec<u8>, usize),
    /// This many bytes, made while they are sent, without a Content-Length.
    Streamed(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The connection stays open for the next request.
    KeptAlive,
    /// Closed right after the answer, without having said so.
    Closed,
    /// The next request on the same connection is read and then the connection is reset without an answer.
    ResetNext,
    /// No answer at all: the connection is reset.
    Reset,
}

impl Answer {
    fn new(content: Content) -> Self {
        Self { content, headers: Vec::new(), delay: Duration::ZERO, hold: None, ending: Ending::KeptAlive }
    }

    fn given(status: u16, body: Body) -> Self {
        Self::new(Content::Given { status, body })
    }

    /// A status without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::given(status, Body::Whole(Vec::new()))
    }

    /// A JSON body.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::text(status, "application/json", &body.to_string())
    }

    /// An HTML page, like an ingress's 404.
    #[must_use]
    pub fn html(status: u16) -> Self {
        Self::text(status, "text/html", "<html><body><h1>default backend</h1></body></html>")
    }

    /// Any text with any content type.
    #[must_use]
    pub fn text(status: u16, content_type: &str, body: &str) -> Self {
        Self::given(status, Body::Whole(body.as_bytes().to_vec())).header("content-type", content_type)
    }

    /// A JSON body that breaks off: Content-Length promises `missing` bytes more, then the connection closes.
    #[must_use]
    pub fn truncated(status: u16, body: &str, missing: usize) -> Self {
        let body = Body::Truncated(body.as_bytes().to_vec(), missing);
        Self { ending: Ending::Closed, ..Self::given(status, body) }.header("content-type", "application/json")
    }

    /// A JSON string of about this many bytes, without a Content-Length.
    #[must_use]
    pub fn streamed(status: u16, bytes: u64) -> Self {
        let answer = Self::given(status, Body::Streamed(bytes)).header("content-type", "application/json");
        Self { ending: Ending::Closed, ..answer }
    }

    /// JSON arrays nested this deep.
    #[must_use]
    pub fn nested(status: u16, depth: usize) -> Self {
        Self::text(status, "application/json", &format!("{}{}", "[".repeat(depth), "]".repeat(depth)))
    }

    /// Whatever the upstream answers.
    #[must_use]
    pub fn forwarded() -> Self {
        Self::new(Content::Forwarded)
    }

    /// Whatever the store of documents answers; see [`super::Outside::keep_documents`].
    #[must_use]
    pub fn stored() -> Self {
        Self::new(Content::Stored)
    }

    /// The connection is reset instead of an answer; nothing takes effect.
    #[must_use]
    pub fn reset() -> Self {
        Self { ending: Ending::Reset, ..Self::status(500) }
    }

    /// Nothing, for a day: the caller's own deadline has to end it.
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

    /// Waits this long before it answers. A forwarded or stored request takes effect first.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits until `hold` is released before it answers. A forwarded request takes effect first.
    #[must_use]
    pub fn held_by(mut self, hold: &Hold) -> Self {
        self.hold = Some(hold.clone());
        self
    }

    /// The request takes effect (with [`Answer::forwarded`]), but the connection is reset before the answer.
    #[must_use]
    pub fn answer_lost(mut self) -> Self {
        self.ending = Ending::Reset;
        self
    }

    /// Closes the connection right after the answer, without having announced it.
    #[must_use]
    pub fn then_close(mut self) -> Self {
        self.ending = Ending::Closed;
        self
    }

    /// Keeps the connection open, but resets it when the next request on it has been read: the stale pooled
    /// connection.
    #[must_use]
    pub fn then_reset_next(mut self) -> Self {
        self.ending = Ending::ResetNext;
        self
    }
}
