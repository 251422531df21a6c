//! The byte stream to a server, limited in both directions.
//!
//! PostgreSQL announces a message's length before its content, and the client would buffer any announced length. So
//! incoming bytes are counted against an allowance, which is renewed for each use.
//!
//! The client looks up each unknown type that the server names, and recursively the types that it consists of, for as
//! long as the server names new ones. Each look-up sends a request, so a limit on outgoing bytes limits the depth.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::guard::stream::Wire;
use crate::sql::failure::OverCap;

/// Maximum outgoing bytes in addition to our request. A look-up takes at least 45 bytes, so 180 types can be looked up.
/// With the 8 KiB that the client itself buffers, the recursion is at most 360 levels deep. In an unoptimised build,
/// 508 levels overflowed 2 MiB of stack.
const BESIDE_REQUEST: usize = 8 * 1024;

/// Bytes from a server before its connection is replaced. The client keeps each setting that the server announces
/// (ParameterStatus), at ten times its size, until the connection is closed. A larger query still finishes.
const LIFE_BYTES: usize = 1024 * 1024;

/// Remaining incoming and outgoing bytes.
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
    /// Starts a use of the connection with this allowance of incoming bytes.
    pub(super) fn set(&self, incoming: usize) {
        self.0.incoming.store(incoming, Ordering::Relaxed);
        self.request(0);
    }

    /// Starts a request of this size. Look-ups may follow it.
    pub(super) fn request(&self, bytes: usize) {
        self.0.outgoing.store(bytes.saturating_add(BESIDE_REQUEST), Ordering::Relaxed);
    }

    /// Returns true if the connection has received its lifetime maximum.
    pub(super) fn is_worn(&self) -> bool {
        self.0.received.load(Ordering::Relaxed) > LIFE_BYTES
    }
}

fn spend(left: &AtomicUsize, bytes: usize, over: OverCap) -> io::Result<()> {
    let rest = left.load(Ordering::Relaxed).checked_sub(bytes);
    left.store(rest.unwrap_or_default(), Ordering::Relaxed);
    rest.map(drop).ok_or_else(|| io::Error::other(over))
}

/// A connection that enforces its allowance.
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
