//! Reads the reply, up to a limit.
//!
//! The limit counts decoded bytes while they stream in, so that neither a huge response nor a small compressed one
//! takes more memory than the target allows. This file evaluates no status and parses no body.

use std::fmt;

use http::{HeaderMap, StatusCode};
use reqwest::Response;

use crate::ExchangeProgress;
use crate::http::exchange::memory::{BodyMemory, Room, UNASKED_BYTES};
use crate::http::exchange::packed::Unpacking;
use drift_language::HttpRequest;

/// The reply. `Debug` hides header values and the body.
#[derive(Clone)]
pub struct HttpReply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The response headers.
    pub headers: HeaderMap,
    /// The response body.
    pub body: ReplyBody,
}

/// The body as far as it was read. `Debug` shows only its size.
#[derive(Clone, PartialEq, Eq)]
pub enum ReplyBody {
    /// The complete body.
    Whole(Vec<u8>),
    /// The limit was exceeded. The rest was not read.
    TooLarge,
    /// The connection ended before the body did, or its compression is broken.
    Truncated,
}

impl ReplyBody {
    /// Returns the bytes of a complete body.
    #[must_use]
    pub fn whole(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::TooLarge | Self::Truncated => None,
        }
    }
}

/// The bounds of a body.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Bounds<'a> {
    /// Maximum decoded bytes.
    pub(in crate::http) max_bytes: usize,
    /// The memory for large bodies.
    pub(in crate::http) memory: &'a BodyMemory,
    /// The request, whose host's share is used.
    pub(in crate::http) request: &'a HttpRequest,
    /// The progress that reports waiting.
    pub(in crate::http) progress: &'a ExchangeProgress,
}

/// Reads the response, completely or up to the limit. A large body waits for memory. It is released after reading,
/// because the same thread evaluates the body right after.
pub(in crate::http) async fn read(mut response: Response, wants_body: bool, bounds: Bounds<'_>) -> HttpReply {
    let (status, mut headers) = (response.status(), std::mem::take(response.headers_mut()));
    let unpacking = Unpacking::of(&mut headers);
    // The response to a HEAD describes a body that never comes. Waiting for it would make the response look truncated.
    let body = if wants_body { read_body(response, unpacking, bounds).await } else { ReplyBody::Whole(Vec::new()) };
    HttpReply { status, headers, body }
}

async fn read_body(mut response: Response, mut unpacking: Option<Unpacking>, bounds: Bounds<'_>) -> ReplyBody {
    let announced = response.content_length().filter(|_| unpacking.is_none());
    let announced = announced.map(|announced| usize::try_from(announced).unwrap_or(usize::MAX));
    if announced.is_some_and(|announced| announced > bounds.max_bytes) {
        return ReplyBody::TooLarge;
    }
    // All memory at once: two bodies that hold a part and wait for more would deadlock.
    let mut read = Reading { most: announced.unwrap_or(bounds.max_bytes), bounds, room: None, bytes: Vec::new() };
    loop {
        let Ok(chunk) = response.chunk().await else { return ReplyBody::Truncated };
        let Some(mut data) = chunk else { break };
        let Some(unpacking) = &mut unpacking else {
            if !read.take(&data).await {
                return ReplyBody::TooLarge;
            }
            continue;
        };
        while !data.is_empty() {
            let Ok(piece) = unpacking.next(&mut data) else { return ReplyBody::Truncated };
            if !read.take(piece).await {
                return ReplyBody::TooLarge;
            }
        }
    }
    let Ok(rest) = unpacking.map_or(Ok(Vec::new()), Unpacking::end) else { return ReplyBody::Truncated };
    if read.take(&rest).await { ReplyBody::Whole(read.bytes) } else { ReplyBody::TooLarge }
}

/// State of a body that is being read.
struct Reading<'a> {
    bounds: Bounds<'a>,
    /// The largest size.
    most: usize,
    room: Option<Room>,
    bytes: Vec<u8>,
}

impl Reading<'_> {
    /// Adds the next piece, after waiting for memory. Returns false if the limit is exceeded.
    async fn take(&mut self, piece: &[u8]) -> bool {
        let Bounds { max_bytes, memory, request, progress } = self.bounds;
        if piece.len() > max_bytes - self.bytes.len() {
            return false;
        }
        // Small responses do not wait for slow large ones.
        if self.room.is_none() && self.bytes.len() + piece.len() > UNASKED_BYTES {
            let host = request.host();
            self.room = memory.try_take(&host, self.most);
            if self.room.is_none() {
                progress.note_waiting();
                self.room = memory.take(&host, self.most).await;
            }
        }
        self.bytes.extend_from_slice(piece);
        true
    }
}

impl fmt::Debug for HttpReply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpReply")
            .field("status", &self.status)
            .field("header_names", &self.headers.keys().map(http::HeaderName::as_str).collect::<Vec<_>>())
            .field("body", &self.body)
            .finish()
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(body) => write!(formatter, "Whole({} bytes)", body.len()),
            Self::TooLarge => formatter.write_str("TooLarge"),
            Self::Truncated => formatter.write_str("Truncated"),
        }
    }
}
