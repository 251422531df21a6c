//! The rate limit of one target's Events: a burst, then one every few seconds.
//!
//! A target that fails for thousands of objects must not fill etcd. Each key has its own bucket.

use std::collections::HashMap;
use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_api::timing::token_bucket::TokenBucket;

/// The burst: as many Events as client-go's correlator allows for one object.
const BURST: u32 = 25;

/// The time after which one more Event is allowed after the burst.
const REFILL: Duration = Duration::from_secs(10);

/// The number of keys above which those with full buckets are dropped.
const MAX_KEYS: usize = 1024;

/// The buckets of all keys.
#[derive(Debug, Default)]
pub(crate) struct EventBudget {
    buckets: HashMap<String, TokenBucket>,
}

impl EventBudget {
    /// Takes a token of `key`. Returns false if its bucket is empty.
    pub(crate) fn take(&mut self, key: &str, now: Moment) -> bool {
        if self.buckets.len() >= MAX_KEYS && !self.buckets.contains_key(key) {
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let full = || TokenBucket::full(BURST, REFILL, now);
        self.buckets.entry(key.to_owned()).or_insert_with(full).take(now).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        let mut budget = EventBudget::default();
        let now = Moment::START + REFILL;
        let passed = |budget: &mut EventBudget, now| (0..1000).filter(|_| budget.take("a", now)).count();
        assert_eq!(passed(&mut budget, now), 25);
        assert_eq!(passed(&mut budget, now + REFILL / 2), 0);
        assert_eq!(passed(&mut budget, now + REFILL), 1);
        assert!(budget.take("b", now), "a target uses the budget of another");
        assert_eq!(passed(&mut budget, now + REFILL * 100), 25);
    }

    #[test]
    fn keys_without_recent_events_are_dropped() {
        let mut budget = EventBudget::default();
        for number in 0..10 * MAX_KEYS {
            assert!(budget.take(&number.to_string(), Moment::START + REFILL * u32::try_from(number).unwrap_or(0)));
        }
        assert!(budget.buckets.len() <= MAX_KEYS);
    }
}
