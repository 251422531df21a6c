//! Rate limit shared by several tasks: for reads of one target by its actor and by running traversals, whose pages are
//! separate requests, and for hints and webhooks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_api::timing::token_bucket::TokenBucket;
use drift_kube::process::clock;

/// A rate limit. Clones share it.
#[derive(Clone, Debug)]
pub struct SharedRate(Arc<Mutex<TokenBucket>>);

impl SharedRate {
    /// Creates a limit of `count` per second, with a burst of the same size.
    #[must_use]
    pub fn per_second(count: u32) -> Self {
        let count = count.max(1);
        Self::of(TokenBucket::full(count, Duration::from_secs(1) / count, clock::now()))
    }

    pub(crate) fn of(bucket: TokenBucket) -> Self {
        Self(Arc::new(Mutex::new(bucket)))
    }

    /// Returns the time of the next start; `now` if it is already allowed.
    #[must_use]
    pub fn available_at(&self, now: Moment) -> Moment {
        self.lock().available_at(now)
    }

    /// Takes a token.
    ///
    /// # Errors
    /// Returns the time of the next token if there is none now.
    pub fn take(&self, now: Moment) -> Result<(), Moment> {
        self.lock().take(now)
    }

    /// Waits until a token is available, and takes it.
    pub async fn wait(&self) {
        while let Err(next) = self.take(clock::now()) {
            tokio::time::sleep_until(clock::instant_of(next)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, TokenBucket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
