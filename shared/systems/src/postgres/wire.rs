//! The bytes between us and a server, bounded in both directions.
//!
//! PostgreSQL announces a message's length before it sends it, and the client would hold whatever is announced. So what
//! comes in is counted against an allowance that is given anew for each use.
//!
//! The client looks up each type that the server names and it does not know, and the types that this one consists of, one
//! inside the other: it recurses for as long as the server names new ones. Each look-up sends a request, so a bound on what
//! goes out bounds the depth.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::failure::OverCap;
use crate::guard::wire::Wire;

/// What may go out besides a request of ours, bytes. A look-up takes 45 bytes at least, so 180 types can be looked up. With
/// the 8 KiB that the client itself holds back, the recursion is 360 levels deep at most. In an unoptimised build 508 levels
/// overflowed 2 MiB of stack.
const BESIDE_REQUEST: usize = 8 * 1024;

/// What a server may send before its connection is replaced, bytes. The client keeps each setting that the server announces
/// (ParameterStatus), at ten times its size, for as long as the connection stands. A query that is larger finishes.
const LIFE_BYTES: usize = 1024 * 1024;

/// Bytes that may still come in and go out.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowance(Arc<Bytes>);

#[derive(Debug, Default)]
struct Bytes {
    incoming: AtomicUsize,
    outgoing: AtomicUsize,
    /// Bytes that came in so far.
    received: AtomicUsize,
}

impl Allowance {
    /// Starts a use of the connection, in which the server may send so much.
    pub(super) fn set(&self, incoming: usize) {
        self.0.incoming.store(incoming, Ordering::Relaxed);
        self.request(0);
    }

    /// Starts a request of this size; look-ups may follow it.
    pub(super) fn request(&self, bytes: usize) {
        self.0.outgoing.store(bytes.saturating_add(BESIDE_REQUEST), Ordering::Relaxed);
    }

    /// Returns true if the connection has carried what it may in its life.
    pub(super) fn is_worn(&self) -> bool {
        self.0.received.load(Ordering::Relaxed) > LIFE_BYTES
    }
}

fn spend(left: &AtomicUsize, bytes: usize, over: OverCap) -> io::Result<()> {
    let rest = left.load(Ordering::Relaxed).checked_sub(bytes);
    left.store(rest.unwrap_or_default(), Ordering::Relaxed);
    rest.map(drop).ok_or_else(|| io::Error::other(over))
}

/// A connection that carries no more than its allowance.
pub(super) struct Capped {
    pub(super) wire: Box<dyn Wire>,
    pub(super) allowance: Allowance,
}

impl AsyncRead for Capped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.wire).poll_read(context, buffer);
        match read {
            Poll::Ready(Ok(())) => {
                let bytes = buffer.filled().len() - before;
                self.allowance.0.received.fetch_add(bytes, Ordering::Relaxed);
                Poll::Ready(spend(&self.allowance.0.incoming, bytes, OverCap::Incoming))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Capped {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.wire).poll_write(context, bytes))?;
        Poll::Ready(spend(&self.allowance.0.outgoing, written, OverCap::Outgoing).map(|()| written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}
