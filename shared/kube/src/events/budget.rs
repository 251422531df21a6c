//! The budget of one target's Events: a burst, then a trickle.
//!
//! A target that goes wrong for thousands of objects must not fill etcd. Each key has a bucket of its own. Pure.

use std::collections::HashMap;
use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_api::timing::token_bucket::TokenBucket;

/// Events at once: as many as client-go's own correlator lets an object cause.
const BURST: u32 = 25;

/// The time in which one more is allowed after the burst.
const REFILL: Duration = Duration::from_secs(10);

/// The number of keys that are kept before those with full buckets are forgotten.
const MAX_KEYS: usize = 1024;

/// The buckets of all keys.
#[derive(Debug, Default)]
pub(crate) struct EventBudget {
    buckets: HashMap<String, TokenBucket>,
}

impl EventBudget {
    /// Returns true if `key` may cause one more now; then it is counted.
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
    fn a_burst_passes_and_then_a_trickle() {
        let mut budget = EventBudget::default();
        let now = Moment::START + REFILL;
        let passed = |budget: &mut EventBudget, now| (0..1000).filter(|_| budget.take("a", now)).count();
        assert_eq!(passed(&mut budget, now), 25);
        assert_eq!(passed(&mut budget, now + REFILL / 2), 0);
        assert_eq!(passed(&mut budget, now + REFILL), 1);
        assert!(budget.take("b", now), "one target takes from another");
        assert_eq!(passed(&mut budget, now + REFILL * 100), 25);
    }

    #[test]
    fn keys_that_are_quiet_are_forgotten() {
        let mut budget = EventBudget::default();
        for number in 0..10 * MAX_KEYS {
            assert!(budget.take(&number.to_string(), Moment::START + REFILL * u32::try_from(number).unwrap_or(0)));
        }
        assert!(budget.buckets.len() <= MAX_KEYS);
    }
}
