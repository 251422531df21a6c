//! Shutdown of a program: SIGTERM or SIGINT cancels one token for all tasks.

use std::io;
use std::time::Duration;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Maximum time for work in progress after the signal. A program ends within 10 s, a third of the 30 s after which the
/// kubelet kills it. The rest is for recording interrupted work and for releasing the Lease.
pub const DRAIN_DEADLINE: Duration = Duration::from_secs(6);

/// Time to record a request that [`DRAIN_DEADLINE`] interrupted: one write to the API server.
pub const NOTE_DEADLINE: Duration = Duration::from_secs(1);

/// Handles signals. Without it, a program would exit at once.
#[derive(Debug)]
pub struct ShutdownSignals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

impl ShutdownSignals {
    /// Starts to listen for signals.
    ///
    /// # Errors
    /// Fails if the operating system refuses.
    #[cfg(unix)]
    pub fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Starts to listen for Ctrl-C, the only one of Windows.
    ///
    /// # Errors
    /// Never.
    #[cfg(not(unix))]
    pub fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Cancels `stop` at the first signal.
    pub async fn forward(mut self, stop: CancellationToken) {
        let name = tokio::select! {
            name = self.received() => name,
            () = stop.cancelled() => return,
        };
        stop.cancel();
        tracing::info!(signal = name, "ending");
    }

    #[cfg(unix)]
    async fn received(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    #[cfg(not(unix))]
    async fn received(&mut self) -> &'static str {
        // Without a handler, Ctrl-C ends the program at once.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_ends_by_itself_waits_for_no_signal() {
        let stop = CancellationToken::new();
        stop.cancel();
        let forwarding = ShutdownSignals::listen().unwrap().forward(stop);
        assert!(tokio::time::timeout(DRAIN_DEADLINE, forwarding).await.is_ok());
    }

    #[tokio::test]
    async fn a_signal_ends_the_program_and_does_not_kill_it() {
        let stop = CancellationToken::new();
        let signals = ShutdownSignals::listen().unwrap();
        let own = std::process::id().to_string();
        let sent = tokio::process::Command::new("kill").args(["-TERM", &own]).status().await.unwrap();
        assert!(sent.success());
        assert!(tokio::time::timeout(DRAIN_DEADLINE, signals.forward(stop.clone())).await.is_ok());
        assert!(stop.is_cancelled());
    }
}
