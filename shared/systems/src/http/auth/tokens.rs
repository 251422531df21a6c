//! A cache of tokens, which are renewed before they expire.
//!
//! One request at a time fetches a token. The others wait for it, or continue with the previous token while it is
//! valid. A failing token server gets growing pauses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio::time::Instant;

use crate::HttpFailure;
use crate::guard::clock::now;
use crate::http::auth::token_request::{Fetched, SourceIdentity, TokenSource};
use drift_api::timing::backoff::Series;

/// A token is renewed after this part of its lifetime, in percent. Half of the rest is left for requests that wait for
/// the next one, so that no token expires in transit.
const RENEWED_AT_PERCENT: u32 = 80;

/// Maximum wait of a request for an early renewal. After that it continues with the current token.
const PATIENCE_AHEAD: Duration = Duration::from_secs(1);

/// Minimum time between replacements of rejected but valid tokens. A host that always responds with 401 must not cause
/// a token request for each poll.
const REPLACED_EVERY: Duration = Duration::from_secs(30);

/// Maximum remembered sources. Each rotation of a credential makes another, and a registry names one for each
/// repository. Beyond that, the one whose token expires first is forgotten. With tokens of the largest size they
/// take 16 MiB.
const KEPT_SOURCES: usize = 256;

/// The tokens of all sources.
#[derive(Default)]
pub(in crate::http) struct TokenStore {
    sources: Mutex<HashMap<SourceIdentity, Arc<Source>>>,
}

/// One source of tokens.
#[derive(Default)]
struct Source {
    state: Mutex<TokenState>,
    /// Held by the request that fetches a token.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct TokenState {
    token: Option<Token>,
    /// The last failure, and the end of its pause.
    failure: Option<(HttpFailure, Instant)>,
    failures: u32,
    /// Number of slow early renewals, and the end of their pause. A slow token server can still serve requests that
    /// have no valid token.
    late: u32,
    late_until: Option<Instant>,
    replaced_at: Option<Instant>,
}

#[derive(Clone)]
struct Token {
    header: HeaderValue,
    renew_at: Instant,
    ends_at: Instant,
}

impl TokenStore {
    /// Returns a valid token, using `fetch` if there is none.
    pub(in crate::http) async fn token<T: Future<Output = Fetched>>(
        &self,
        identified: &TokenSource,
        fetch: impl Fn() -> T,
    ) -> Result<HeaderValue, HttpFailure> {
        let source = self.source(identified.identity());
        let began = now();
        let good = source.state().good(began);
        if let Some(token) = good {
            let is_due = began >= token.renew_at && source.state().may_be_ahead(began);
            if let Some(_turn) = is_due.then(|| source.turn.try_lock().ok()).flatten() {
                let renewed = tokio::time::timeout(PATIENCE_AHEAD, source.renew(&fetch)).await;
                renewed.map_or_else(|_| source.state().note_late(), drop);
                return Ok(source.state().good(now()).map_or(token.header, |token| token.header));
            }
            return Ok(token.header);
        }
        let _turn = source.turn.lock().await;
        let state = source.state().outcome(now());
        match state {
            Some(outcome) => outcome,
            None => source.renew(&fetch).await,
        }
    }

    /// Replaces a rejected token. `None` if no other is available now.
    pub(in crate::http) async fn another<T: Future<Output = Fetched>>(
        &self,
        identified: &TokenSource,
        refused: &HeaderValue,
        fetch: impl Fn() -> T,
    ) -> Option<HeaderValue> {
        let source = self.source(identified.identity());
        let _turn = source.turn.lock().await;
        {
            let (mut state, now) = (source.state(), now());
            if let Some(token) = state.good(now).filter(|token| token.header != *refused) {
                return Some(token.header);
            }
            let is_early = state.token.as_ref().is_some_and(|token| now < token.renew_at);
            let was_replaced = state.replaced_at.is_some_and(|at| now < at + REPLACED_EVERY);
            if state.is_paused(now) || is_early && was_replaced {
                return None;
            }
            if is_early {
                state.replaced_at = Some(now);
            }
        }
        source.renew(&fetch).await.ok()
    }

    fn source(&self, identity: &SourceIdentity) -> Arc<Source> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = sources.get(identity) {
            return source.clone();
        }
        if sources.len() >= KEPT_SOURCES {
            let now = now();
            sources.retain(|_, source| source.state().good(now).is_some() || Arc::strong_count(source) > 1);
        }
        if sources.len() >= KEPT_SOURCES {
            let idle = sources.iter().filter(|(_, source)| Arc::strong_count(source) == 1);
            let first = idle.min_by_key(|(_, source)| source.state().token.as_ref().map(|token| token.ends_at));
            first.map(|(identity, _)| identity.clone()).map(|identity| sources.remove(&identity));
        }
        sources.entry(identity.clone()).or_default().clone()
    }
}

impl Source {
    fn state(&self) -> MutexGuard<'_, TokenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches a token. Called only by the holder of the turn.
    async fn renew<T: Future<Output = Fetched>>(&self, fetch: impl Fn() -> T) -> Result<HeaderValue, HttpFailure> {
        let began = now();
        match fetch().await {
            Fetched::Token(header, life) => {
                let renew_at = began + life * RENEWED_AT_PERCENT / 100;
                let ends_at = renew_at + life * (100 - RENEWED_AT_PERCENT) / 200;
                let mut state = self.state();
                state.token = Some(Token { header: header.clone(), renew_at, ends_at });
                (state.failure, state.failures) = (None, 0);
                (state.late_until, state.late) = (None, 0);
                Ok(header)
            }
            Fetched::Failed(failure, pause) => {
                self.state().fail(failure.clone(), pause);
                Err(failure)
            }
        }
    }
}

impl TokenState {
    fn good(&self, now: Instant) -> Option<Token> {
        self.token.clone().filter(|token| now < token.ends_at)
    }

    fn is_paused(&self, now: Instant) -> bool {
        self.failure.as_ref().is_some_and(|(_, until)| now < *until)
    }

    fn may_be_ahead(&self, now: Instant) -> bool {
        !self.is_paused(now) && self.late_until.is_none_or(|until| until <= now)
    }

    fn note_late(&mut self) {
        self.late = self.late.saturating_add(1);
        self.late_until = Some(now() + Series::HOST_SILENT.delay(self.late));
    }

    /// Returns the outcome for requests that waited for the same token.
    fn outcome(&self, now: Instant) -> Option<Result<HeaderValue, HttpFailure>> {
        let good = self.good(now).map(|token| Ok(token.header));
        good.or_else(|| {
            let (failure, until) = self.failure.clone().filter(|(_, until)| now < *until)?;
            Some(Err(match failure {
                HttpFailure::TokenUnavailable(cause) => HttpFailure::TokenPaused { cause, wait: until - now },
                // A rejected credential stays rejected.
                failure => failure,
            }))
        })
    }

    fn fail(&mut self, failure: HttpFailure, pause: Option<Duration>) {
        self.failures = self.failures.saturating_add(1);
        let pause = pause.unwrap_or_default().max(Series::HOST_SILENT.delay(self.failures));
        self.failure = Some((failure, now() + pause));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
