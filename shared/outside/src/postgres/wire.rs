//! The bytes between us and a server, no more of them at once than a target takes.
//!
//! PostgreSQL announces a message's length before it sends it, and the client would hold whatever is announced. So what
//! comes in is counted against an allowance that is given anew for each use. This file must not know the protocol.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::failure::OverCap;
use crate::wire::Wire;

/// How much may still come in, bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowance(Arc<AtomicUsize>);

impl Allowance {
    pub(super) fn set(&self, bytes: usize) {
        self.0.store(bytes, Ordering::Relaxed);
    }

    fn spend(&self, bytes: usize) -> io::Result<()> {
        let left = self.0.load(Ordering::Relaxed).checked_sub(bytes);
        self.0.store(left.unwrap_or_default(), Ordering::Relaxed);
        left.map(drop).ok_or_else(|| io::Error::other(OverCap))
    }
}

/// A connection that gives no more than its allowance.
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
            Poll::Ready(Ok(())) => Poll::Ready(self.allowance.spend(buffer.filled().len() - before)),
            other => other,
        }
    }
}

impl AsyncWrite for Capped {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}
