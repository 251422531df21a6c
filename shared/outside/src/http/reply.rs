//! What came back, read no further than allowed.
//!
//! The cap counts decoded bytes while they stream in, so that neither a huge answer nor a small one that unpacks into
//! a huge one costs more memory than the target allows. This file judges no status and parses no body.

use std::fmt;

use http::{HeaderMap, StatusCode};
use tokio::sync::Semaphore;

/// Memory that bodies may take together while they are read: a quarter of what a program may use in the manifests, and
/// four of the largest.
pub(super) const MAX_BYTES_UNDER_WAY: usize = 32 * 1024 * 1024;

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

/// Reads the answer whole, or up to `max_bytes` of its decoded body. A large one waits until `memory` has room for it; it
/// gives the room back when it is read, since it is judged right after, by the same thread.
pub(super) async fn read(
    mut response: reqwest::Response,
    wants_body: bool,
    max_bytes: usize,
    memory: &Semaphore,
) -> HttpReply {
    let status = response.status();
    let headers = std::mem::take(response.headers_mut());
    // The answer to a HEAD describes a body that never comes; a decoder would wait for it and call it broken.
    let body = if wants_body { read_body(response, max_bytes, memory).await } else { ReplyBody::Whole(Vec::new()) };
    HttpReply { status, headers, body }
}

async fn read_body(mut response: reqwest::Response, max_bytes: usize, memory: &Semaphore) -> ReplyBody {
    let announced = response.content_length().map(|announced| usize::try_from(announced).unwrap_or(usize::MAX));
    if announced.is_some_and(|announced| announced > max_bytes) {
        return ReplyBody::TooLarge;
    }
    // All that it may become at once: two that hold a part and want more would wait for each other.
    let most = announced.unwrap_or(max_bytes).min(MAX_BYTES_UNDER_WAY);
    let mut room = None;
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if chunk.len() > max_bytes - body.len() => return ReplyBody::TooLarge,
            Ok(Some(chunk)) => {
                if room.is_none() && body.len() + chunk.len() > UNASKED_BYTES {
                    room = memory.acquire_many(u32::try_from(most).unwrap_or(u32::MAX)).await.ok();
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
