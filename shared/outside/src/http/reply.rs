//! What came back, read no further than allowed.
//!
//! The cap counts decoded bytes while they stream in, so that neither a huge answer nor a small one that unpacks into
//! a huge one costs more memory than the target allows. This file judges no status and parses no body.

use std::fmt;

use http::{HeaderMap, StatusCode};

use crate::ExchangeProgress;
use crate::http::memory::BodyMemory;
use drift_model::http_request::HttpRequest;

/// Bytes of each body that are read unasked: so a slow large answer keeps no small one waiting. The limits of polls under
/// way bound these.
const UNASKED_BYTES: usize = 64 * 1024;

/// What came back. `Debug` shows neither header values nor the body.
#[derive(Clone)]
pub struct HttpReply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: ReplyBody,
}

/// The body as far as it was read. `Debug` shows only its size.
#[derive(Clone, PartialEq, Eq)]
pub enum ReplyBody {
    /// All of it.
    Whole(Vec<u8>),
    /// More than the cap; the rest was not read.
    TooLarge,
    /// The connection ended before the body did, or its compression is broken.
    Truncated,
}

/// What a body may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds<'a> {
    /// Of its decoded bytes.
    pub(super) max_bytes: usize,
    /// Where a large one finds room.
    pub(super) memory: &'a BodyMemory,
    /// What is answered: its host's room is taken.
    pub(super) request: &'a HttpRequest,
    /// Where it is said that it waits.
    pub(super) progress: &'a ExchangeProgress,
}

/// Reads the answer whole, or as far as it may be. A large one waits until there is room for it; it gives the room back
/// when it is read, since it is judged right after, by the same thread.
pub(super) async fn read(mut response: reqwest::Response, wants_body: bool, bounds: Bounds<'_>) -> HttpReply {
    let status = response.status();
    let headers = std::mem::take(response.headers_mut());
    // The answer to a HEAD describes a body that never comes; a decoder would wait for it and call it broken.
    let body = if wants_body { read_body(response, bounds).await } else { ReplyBody::Whole(Vec::new()) };
    HttpReply { status, headers, body }
}

async fn read_body(mut response: reqwest::Response, bounds: Bounds<'_>) -> ReplyBody {
    let Bounds { max_bytes, memory, request, progress } = bounds;
    let announced = response.content_length().map(|announced| usize::try_from(announced).unwrap_or(usize::MAX));
    if announced.is_some_and(|announced| announced > max_bytes) {
        return ReplyBody::TooLarge;
    }
    // All that it may become at once: two that hold a part and want more would wait for each other.
    let most = announced.unwrap_or(max_bytes);
    let mut room = None;
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if chunk.len() > max_bytes - body.len() => return ReplyBody::TooLarge,
            Ok(Some(chunk)) => {
                if room.is_none() && body.len() + chunk.len() > UNASKED_BYTES {
                    let host = request.host();
                    room = memory.try_take(&host, most);
                    if room.is_none() {
                        progress.note_waiting();
                        room = memory.take(&host, most).await;
                    }
                }
                body.extend_from_slice(&chunk);
            }
            Ok(None) => return ReplyBody::Whole(body),
            Err(_) => return ReplyBody::Truncated,
        }
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
