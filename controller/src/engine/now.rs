//! The time of a step.

use std::time::Duration;

use drift_api::timing::moment::Moment;
use jiff::Timestamp;

/// Both clocks at the time of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Monotonic clock; all delays are measured with it.
    pub moment: Moment,
    /// Wall clock, as the time since 1970.
    pub wall: Duration,
}

impl Now {
    /// Returns wall time as a date.
    #[must_use]
    pub fn timestamp(self) -> Timestamp {
        Timestamp::UNIX_EPOCH.saturating_add(self.wall).unwrap_or(Timestamp::MAX)
    }
}
