//! The budget of writes to one object that no program waits for.

use std::time::Duration;

use crate::timing::moment::Moment;
use crate::timing::token_bucket::TokenBucket;

/// Writes at once: a few normal changes.
const BURST: u32 = 6;

/// Time after which one more write is allowed. People do not read faster, and a war with another writer heals nothing.
const REFILL: Duration = Duration::from_secs(60);

/// The budget of one object: six writes at once, then one a minute. It is full again six minutes after the last.
#[derive(Clone, Copy, Debug)]
pub struct QuietBudget(TokenBucket);

impl Default for QuietBudget {
    fn default() -> Self {
        Self(TokenBucket::full(BURST, REFILL, Moment::START))
    }
}

impl QuietBudget {
    /// Counts a write. An empty budget stays empty.
    pub fn spend(&mut self, now: Moment) {
        let _ = self.0.take(now);
    }

    /// Returns the time of the next write, at least `now`.
    #[must_use]
    pub fn available_at(&self, now: Moment) -> Moment {
        self.0.available_at(now)
    }

    /// Returns true if all of it is available again.
    #[must_use]
    pub fn is_full(&self, now: Moment) -> bool {
        self.0.is_full(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    #[test]
    fn six_writes_at_once_then_one_a_minute() {
        let mut budget = QuietBudget::default();
        for _ in 0..6 {
            assert_eq!(budget.available_at(at(100)), at(100));
            budget.spend(at(100));
        }
        assert_eq!(budget.available_at(at(100)), at(160));
        budget.spend(at(100));
        assert_eq!(budget.available_at(at(100)), at(160), "an empty budget stays empty");
        assert!(!budget.is_full(at(459)) && budget.is_full(at(460)));
    }
}
