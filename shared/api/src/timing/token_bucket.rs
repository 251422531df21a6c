//! A token bucket as a value: a burst, then a steady rate.
//!
//! It limits writes, reads and events. Decisions about them are pure, so it gets the time as an argument.

use std::time::Duration;

use crate::timing::moment::Moment;

/// A bucket that gains one token every `refill`, up to `capacity`.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    capacity: u32,
    refill: Duration,
    tokens: u32,
    /// Start of the interval of the next token.
    filling_since: Moment,
}

impl TokenBucket {
    /// Creates a full bucket. A `refill` of zero means that it is never empty.
    #[must_use]
    pub const fn full(capacity: u32, refill: Duration, now: Moment) -> Self {
        Self { capacity, refill, tokens: capacity, filling_since: now }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// Returns the moment of the next token if there is none now.
    pub fn take(&mut self, now: Moment) -> Result<(), Moment> {
        self.fill(now);
        match self.tokens.checked_sub(1) {
            Some(left) => {
                self.tokens = left;
                Ok(())
            }
            None => Err(self.filling_since + self.refill),
        }
    }

    /// Returns the earliest moment at which [`TokenBucket::take`] succeeds, at least `now`.
    #[must_use]
    pub fn available_at(&self, now: Moment) -> Moment {
        let mut bucket = *self;
        bucket.fill(now);
        if bucket.tokens > 0 { now } else { bucket.filling_since + bucket.refill }
    }

    /// Returns true if the bucket is full again.
    #[must_use]
    pub fn is_full(&self, now: Moment) -> bool {
        let mut bucket = *self;
        bucket.fill(now);
        bucket.tokens == bucket.capacity
    }

    fn fill(&mut self, now: Moment) {
        if self.refill.is_zero() {
            self.tokens = self.capacity.max(1);
            return;
        }
        let earned = (now - self.filling_since).as_nanos() / self.refill.as_nanos();
        let room = self.capacity - self.tokens;
        if earned >= u128::from(room) {
            self.tokens = self.capacity;
            self.filling_since = now;
        } else if let Ok(earned) = u32::try_from(earned) {
            self.tokens += earned;
            self.filling_since += self.refill * earned;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    #[test]
    fn six_at_once_then_one_a_minute() {
        let mut bucket = TokenBucket::full(6, Duration::from_secs(60), at(0));
        for _ in 0..6 {
            assert_eq!(bucket.take(at(1)), Ok(()));
        }
        assert_eq!(bucket.take(at(1)), Err(at(61)));
        assert_eq!(bucket.available_at(at(30)), at(61));
        assert_eq!(bucket.take(at(61)), Ok(()));
        assert_eq!(bucket.take(at(62)), Err(at(121)));
    }

    proptest! {
        #[test]
        fn no_history_gets_more_than_capacity_and_refill(steps in proptest::collection::vec(0..20u64, 1..200)) {
            let mut bucket = TokenBucket::full(6, Duration::from_secs(10), at(0));
            let (mut now, mut taken) = (0, 0u64);
            for step in steps {
                now += step;
                match bucket.take(at(now)) {
                    Ok(()) => taken += 1,
                    Err(next) => prop_assert!(next > at(now) && next <= at(now + 10)),
                }
            }
            prop_assert!(taken <= 6 + now / 10);
        }
    }
}
