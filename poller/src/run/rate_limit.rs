//! How often something may begin, where several tasks begin it: reads of one target, by its actor and by traversals under way,
//! whose pages are requests of their own; hints and requests that bring them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_api::timing::token_bucket::TokenBucket;
use drift_kube::process::clock;

/// A rate. Clones share it.
#[derive(Clone, Debug)]
pub struct SharedRate(Arc<Mutex<TokenBucket>>);

impl SharedRate {
    /// So many in a second, and as many at once.
    #[must_use]
    pub fn per_second(count: u32) -> Self {
        let count = count.max(1);
        Self::of(TokenBucket::full(count, Duration::from_secs(1) / count, clock::now()))
    }

    pub(crate) fn of(bucket: TokenBucket) -> Self {
        Self(Arc::new(Mutex::new(bucket)))
    }

    /// Returns the time at which the next one may begin; `now` where it may already.
    #[must_use]
    pub fn available_at(&self, now: Moment) -> Moment {
        self.lock().available_at(now)
    }

    /// One begins.
    ///
    /// # Errors
    /// When the next one may, where none may now.
    pub fn take(&self, now: Moment) -> Result<(), Moment> {
        self.lock().take(now)
    }

    /// Waits until one may begin.
    pub async fn wait(&self) {
        while let Err(next) = self.take(clock::now()) {
            tokio::time::sleep_until(clock::instant_of(next)).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, TokenBucket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
