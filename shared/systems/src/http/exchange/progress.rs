//! Evidence about a host from an exchange that ended or was cancelled. A missed deadline alone does not show whose
//! fault it was.
//!
//! The deadline excludes waits for a token, because a token server has its own deadline, and its slowness must not count
//! against the host.

use crate::guard::failure::SystemFailure;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::secrets::labelled_secrets::LabelledSecrets;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::guard::clock::now;
use crate::http::exchange::retry_after::asked_pause;
use crate::http::exchange::sent::SentCredentials;
use crate::{HostReply, HttpFailure, HttpReply};

/// Returns the evidence about the host from the end of an exchange. `now` is the wall time.
#[must_use]
pub fn heard(answer: &Result<HttpReply, HttpFailure>, now: Timestamp) -> Option<HostReply> {
    match answer {
        Ok(reply) => {
            let pause = asked_pause(reply.status, &reply.headers, now);
            Some(pause.map_or(HostReply::Answer, HostReply::AskedToWait))
        }
        Err(
            HttpFailure::NotConnected(_)
            | HttpFailure::ProxyFailed(_)
            | HttpFailure::System(SystemFailure::Unreachable(_)),
        ) => Some(HostReply::Unreachable),
        // Nothing was sent there.
        Err(_) => None,
    }
}

/// The progress of an exchange, or of several in a row.
#[derive(Debug, Default)]
pub struct ExchangeProgress {
    answered: AtomicBool,
    waited: AtomicBool,
    token_wait: Mutex<TokenWait>,
    sent: Mutex<SentCredentials>,
}

/// The time spent waiting for token servers.
#[derive(Debug, Default)]
struct TokenWait {
    over: Duration,
    since: Option<Instant>,
}

impl ExchangeProgress {
    /// Returns true if the answer had to wait for memory, which other hosts' answers took.
    #[must_use]
    pub fn has_waited(&self) -> bool {
        self.waited.load(Ordering::Relaxed)
    }

    /// Returns the evidence about the host from a missed deadline: none if we caused the wait. A host that began to
    /// respond is not silent, however slow it is.
    #[must_use]
    pub fn heard(&self) -> Option<HostReply> {
        let is_answered = self.answered.load(Ordering::Relaxed);
        (!self.has_waited()).then_some(if is_answered { HostReply::Answer } else { HostReply::TimedOut })
    }

    /// Returns the time spent waiting for token servers, which is not the host's fault.
    #[must_use]
    pub fn token_wait(&self) -> Duration {
        let wait = self.lock();
        wait.over + wait.since.map_or(Duration::ZERO, |since| now() - since)
    }

    /// Waits for a token, and records the time.
    pub(in crate::http) async fn awaiting_token<T>(&self, token: impl Future<Output = T>) -> T {
        self.lock().since = Some(now());
        let token = token.await;
        let mut wait = self.lock();
        if let Some(since) = wait.since.take() {
            wait.over += now() - since;
        }
        token
    }

    /// Returns the credentials that were sent. No shown part of the answer may repeat them.
    #[must_use]
    pub fn sent(&self) -> SentCredentials {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records that values of these Secrets are sent.
    pub(in crate::http) fn note_secrets(&self, secrets: &Arc<LabelledSecrets>) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).note_secrets(secrets);
    }

    /// Records a secret text of the token that is sent.
    pub(in crate::http) fn note_token(&self, token: &str) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).note_token(token);
    }

    fn lock(&self) -> MutexGuard<'_, TokenWait> {
        self.token_wait.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::http) fn note_sent(&self) {
        self.answered.store(false, Ordering::Relaxed);
    }

    pub(in crate::http) fn note_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    pub(in crate::http) fn note_waiting(&self) {
        self.waited.store(true, Ordering::Relaxed);
    }
}

/// Returns the result of the exchange, or `None` after the deadline. `progress` is the one passed to the exchange.
///
/// The caller pins the exchange. A moved future would take its memory twice, and there is one for each poll in flight.
pub async fn before_deadline<T>(
    deadline: Duration,
    progress: &ExchangeProgress,
    mut exchange: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    let mut discounted = progress.token_wait();
    let mut left = deadline;
    loop {
        if let Ok(result) = tokio::time::timeout(left, exchange.as_mut()).await {
            return Some(result);
        }
        let waited = progress.token_wait();
        left = waited - discounted;
        discounted = waited;
        if left.is_zero() {
            return None;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::guard::clock::now;

    const DEADLINE: Duration = Duration::from_secs(3);

    fn seconds(seconds: u64) -> tokio::time::Sleep {
        tokio::time::sleep(Duration::from_secs(seconds))
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_wait_for_a_token_does_not_count() {
        for (token, host, expected) in [(0, 2, true), (0, 4, false), (5, 2, true), (5, 4, false), (30, 2, true)] {
            let progress = ExchangeProgress::default();
            let exchange = async {
                progress.awaiting_token(seconds(token)).await;
                seconds(host).await;
            };
            let began = now();
            let ended = before_deadline(DEADLINE, &progress, pin!(exchange)).await.is_some();
            assert_eq!(ended, expected, "{token} s for a token, {host} s for the host");
            assert_eq!(progress.token_wait(), Duration::from_secs(token));
            let took = if expected { Duration::from_secs(host) } else { DEADLINE };
            assert_eq!(now() - began, took + Duration::from_secs(token));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_earlier_wait_grants_nothing() {
        let progress = ExchangeProgress::default();
        progress.awaiting_token(seconds(5)).await;
        assert_eq!(before_deadline(DEADLINE, &progress, pin!(seconds(4))).await, None);
    }
}
