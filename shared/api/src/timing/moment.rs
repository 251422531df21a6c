//! A point in time that can only be compared with others of the same process.
//!
//! Decisions about age and order use it and never the wall clock, which people and NTP change. It is a plain value:
//! only `process::clock` in drift-kube reads the time, so that decision code stays pure.

use std::num::NonZeroU64;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// Monotonic time since the first reading of the clock, including time in suspend.
///
/// Stored in nanoseconds, which last for centuries, and never zero, so that an optional moment takes no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(NonZeroU64);

impl Moment {
    /// The moment of the first reading.
    pub const START: Self = Self(NonZeroU64::MIN);

    /// Creates the moment `since_start` after the start, capped at the maximum.
    #[must_use]
    pub const fn from_start(since_start: Duration) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanoseconds(since_start)))
    }

    /// Returns the duration since the start.
    #[must_use]
    pub const fn since_start(self) -> Duration {
        Duration::from_nanos(self.0.get() - NonZeroU64::MIN.get())
    }

    /// Returns the duration since `earlier`; zero if this is not later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.get().saturating_sub(earlier.0.get()))
    }

    /// Returns the moment `span` before this one, but not before the start.
    #[must_use]
    pub const fn saturating_sub(self, span: Duration) -> Self {
        Self::from_start(self.since_start().saturating_sub(span))
    }

    /// Rounds up to a whole number of ticks after the start.
    #[must_use]
    pub fn rounded_up(self, tick: Duration) -> Self {
        let since_start = nanoseconds(self.since_start());
        let rounded = since_start.checked_next_multiple_of(nanoseconds(tick).max(1));
        Self::from_start(Duration::from_nanos(rounded.unwrap_or(since_start)))
    }

    /// Returns true if at least `span` has passed since `earlier`.
    #[must_use]
    pub fn is_past(self, earlier: Self, span: Duration) -> bool {
        self.saturating_since(earlier) >= span
    }
}

/// Capped at the maximum: 584 years.
const fn nanoseconds(span: Duration) -> u64 {
    let count = span.as_nanos();
    if count > u64::MAX as u128 { u64::MAX } else { count as u64 }
}

impl Default for Moment {
    /// The start moment.
    fn default() -> Self {
        Self::START
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// Returns the moment `span` after this one, capped at the maximum.
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(nanoseconds(span)))
    }
}

impl AddAssign<Duration> for Moment {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub for Moment {
    type Output = Duration;

    /// Same as [`Moment::saturating_since`].
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
        assert_eq!((Moment::default(), Moment::START.since_start()), (Moment::START, Duration::ZERO));
        assert!(late.is_past(early, second) && !early.is_past(late, second));
    }
}
