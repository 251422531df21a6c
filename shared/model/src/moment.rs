//! A point in time that can only be compared with others of the same process.
//!
//! Decisions about age and order use this and never the wall clock, which people and NTP move. It is a value like
//! any other: where the time comes from is `runtime::clock`'s business, so that deciding code stays pure.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Monotonic time since the process began to count, suspended time included; the zero is the first reading of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Duration);

impl Moment {
    /// The moment the count began.
    pub const START: Self = Self(Duration::ZERO);

    /// The moment that lies `since_start` after the start.
    #[must_use]
    pub const fn from_start(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// How long after the start this is.
    #[must_use]
    pub const fn since_start(self) -> Duration {
        self.0
    }

    /// How long after `earlier` this is; zero where it is not after.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment `span` before this one; the start where there is none.
    #[must_use]
    pub const fn saturating_sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span))
    }

    /// The first moment, this one or later, that lies a whole number of ticks after the start.
    #[must_use]
    pub fn rounded_up(self, tick: Duration) -> Self {
        let nanoseconds = self.0.as_nanos().checked_next_multiple_of(tick.as_nanos().max(1));
        let rounded = nanoseconds.and_then(|count| u64::try_from(count).ok()).map(Duration::from_nanos);
        Self(rounded.unwrap_or(self.0))
    }

    /// Whether at least `span` has passed since `earlier`.
    #[must_use]
    pub fn is_past(self, earlier: Self, span: Duration) -> bool {
        self.saturating_since(earlier) >= span
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// The moment `span` after this one; the last one that can be told where there is none.
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

impl AddAssign<Duration> for Moment {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Moment {
    type Output = Duration;

    /// As [`Moment::saturating_since`].
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_runs_below_zero_nor_over_the_end() {
        let second = Duration::from_secs(1);
        let early = Moment::from_start(second);
        let late = early + second;
        assert_eq!(late - early, second);
        assert_eq!(early - late, Duration::ZERO);
        assert_eq!(early.saturating_sub(10 * second), Moment::START);
        assert!((late + Duration::MAX) > late);
        assert!(late.is_past(early, second) && !early.is_past(late, second));
    }
}
