//! The backoff after failures.
//!
//! Every backoff series is defined here with its reason, so that the same failure is always handled alike. The time
//! comes in as a value.

use std::time::Duration;

use crate::timing::moment::Moment;

/// A series of delays: none for the first `at_once` failures, then `first`, then each `factor` times as long,
/// up to `longest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Consecutive failures without a delay.
    pub at_once: u32,
    /// The first delay after them.
    pub first: Duration,
    /// The factor of each next delay.
    pub factor: u32,
    /// The longest delay.
    pub longest: Duration,
}

impl Series {
    /// The API server refuses a write. A right that is granted again takes effect within five minutes.
    pub const WRITE_REFUSED: Self = Self::doubling(1, 300);

    /// The API server does not respond. Everything waits for it, so its return is noticed quickly.
    pub const API_UNAVAILABLE: Self = Self::doubling(1, 30);

    /// An external host does not respond. It is retried soon after a hiccup, and an outage costs one request
    /// every 30 seconds.
    pub const HOST_SILENT: Self = Self::doubling(1, 30);

    /// Objects that no target selects any more cannot be read or written. It is not urgent, and an error that lasts an
    /// hour needs a person.
    pub const CLEAN_UP: Self = Self::doubling(60, 3600);

    /// A target's task ended unexpectedly. Long enough to cause no load, short enough that a fix shows within a minute.
    pub const TASK_ENDED: Self = Self::doubling(2, 60);

    /// Another writer was faster. Five tries in a row win against most writers. Against one as fast as the API server,
    /// each of its writes would otherwise cause one rejected write of ours. The condition is written within a minute
    /// after the other writer stops.
    pub const RACE_LOST: Self = Self { at_once: 4, ..Self::doubling(1, 30) };

    /// The external system was corrected. The second correction follows the first at once. An ineffective correction
    /// and a conflict with another writer both slow down to one try every five minutes.
    pub const CORRECTION: Self =
        Self { at_once: 1, first: Duration::from_secs(2), factor: 3, longest: Duration::from_secs(300) };

    /// A correction could not be sent, because a Secret or a field that a template reads needs a fix. The fix takes
    /// effect after at most half a minute. A try sends no request.
    pub const NOTHING_SENT: Self = Self::doubling(1, 30);

    const fn doubling(first: u64, longest: u64) -> Self {
        Self { at_once: 0, first: Duration::from_secs(first), factor: 2, longest: Duration::from_secs(longest) }
    }

    /// Returns the delay after this many consecutive failures.
    #[must_use]
    pub fn delay(&self, failures: u32) -> Duration {
        match failures.checked_sub(self.at_once.saturating_add(1)) {
            None => Duration::ZERO,
            Some(grown) => {
                let multiplied = self.factor.checked_pow(grown).and_then(|factor| self.first.checked_mul(factor));
                multiplied.map_or(self.longest, |delay| delay.min(self.longest))
            }
        }
    }
}

/// Consecutive failures of one operation, and the time of the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    series: Series,
    failures: u32,
    ready_at: Moment,
}

impl Backoff {
    /// Creates a backoff without failures.
    #[must_use]
    pub const fn new(series: Series) -> Self {
        Self { series, failures: 0, ready_at: Moment::START }
    }

    /// Records a failure. Returns the delay before the next try.
    pub fn fail(&mut self, now: Moment) -> Duration {
        self.failures = self.failures.saturating_add(1);
        let delay = self.series.delay(self.failures);
        self.ready_at = now + delay;
        delay
    }

    /// Resets the series after a success, or for another operation.
    pub const fn reset(&mut self) {
        self.failures = 0;
        self.ready_at = Moment::START;
    }

    /// Ends the present delay. Earlier failures still count.
    pub const fn end_delay(&mut self) {
        self.ready_at = Moment::START;
    }

    /// Continues with another series after a different failure. Earlier failures still count.
    pub const fn follow(&mut self, series: Series) {
        self.series = series;
    }

    /// Returns the series of delays.
    #[must_use]
    pub const fn series(&self) -> Series {
        self.series
    }

    /// Returns the number of consecutive failures.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the earliest time of the next try. [`Moment::START`] without failures.
    #[must_use]
    pub const fn ready_at(&self) -> Moment {
        self.ready_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(series: &Series) -> Vec<u64> {
        (1..=11).map(|failures| series.delay(failures).as_secs()).collect()
    }

    #[test]
    fn each_series_is_as_documented() {
        assert_eq!(delays(&Series::WRITE_REFUSED), [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(delays(&Series::API_UNAVAILABLE), [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30]);
        assert_eq!(delays(&Series::HOST_SILENT), [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30]);
        assert_eq!(delays(&Series::CLEAN_UP), [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600, 3600, 3600]);
        assert_eq!(delays(&Series::TASK_ENDED), [2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60]);
        assert_eq!(delays(&Series::RACE_LOST), [0, 0, 0, 0, 1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(delays(&Series::NOTHING_SENT), [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30]);
        assert_eq!(delays(&Series::CORRECTION), [0, 2, 6, 18, 54, 162, 300, 300, 300, 300, 300]);
    }

    #[test]
    fn no_series_exceeds_its_longest_delay() {
        for series in [Series::WRITE_REFUSED, Series::API_UNAVAILABLE, Series::RACE_LOST, Series::CORRECTION] {
            assert_eq!(series.delay(0), Duration::ZERO);
            assert_eq!(series.delay(u32::MAX), series.longest);
        }
    }

    #[test]
    fn a_success_begins_the_series_anew() {
        let at = |seconds| Moment::from_start(Duration::from_secs(seconds));
        let mut backoff = Backoff::new(Series::WRITE_REFUSED);
        assert_eq!(backoff.ready_at(), Moment::START);
        assert_eq!(backoff.fail(at(10)), Duration::from_secs(1));
        backoff.fail(at(11));
        assert_eq!((backoff.failures(), backoff.ready_at()), (2, at(13)));
        backoff.reset();
        assert_eq!(backoff, Backoff::new(Series::WRITE_REFUSED));
    }
}
