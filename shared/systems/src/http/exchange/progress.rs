//! Evidence about a host from an exchange that ended or was cancelled. A missed deadline alone does not show whose
//! fault it was.

use drift_api::secrets::labelled_secrets::LabelledSecrets;
use jiff::Timestamp;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
        Err(HttpFailure::Unreachable(_)) => Some(HostReply::Unreachable),
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
