//! How many Events one target may cause: a burst for what is new, then a trickle.
//!
//! A target that goes wrong for thousands of objects must not fill etcd. A bucket for each key over plain moments,
//! since the rate limiter in use elsewhere reads a clock of its own. Pure; it must not know what an Event is.

use std::collections::HashMap;
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// Events at once: as many as client-go's own correlator lets an object cause.
const BURST: u32 = 25;

/// The time in which one more is allowed after the burst.
const REFILL: Duration = Duration::from_secs(10);

/// How many keys are kept before those with full buckets are forgotten.
const MAX_KEYS: usize = 1024;

/// The buckets of all keys.
#[derive(Debug, Default)]
pub(crate) struct EventBudget {
    /// When each bucket will be full again.
    full_at: HashMap<String, Moment>,
}

impl EventBudget {
    /// Whether `key` may cause one more now; then it is counted.
    pub(crate) fn take(&mut self, key: &str, now: Moment) -> bool {
        if self.full_at.len() >= MAX_KEYS && !self.full_at.contains_key(key) {
            self.full_at.retain(|_, full_at| *full_at > now);
        }
        let full_at = self.full_at.get(key).copied().unwrap_or(now).max(now) + REFILL;
        let fits = full_at - now <= REFILL * BURST;
        if fits {
            self.full_at.insert(key.to_owned(), full_at);
        }
        fits
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
        assert!(budget.full_at.len() <= MAX_KEYS);
    }
}
