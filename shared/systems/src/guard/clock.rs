//! The clocks of this crate: the age of a connection or a token, durations of waits, and the wall
//! time for `Retry-After`.
//!
//! The programs' clock is in a crate above this one. These clocks only decide wait times and when a
//! connection is replaced.

use jiff::Timestamp;
use tokio::time::Instant;

/// A token that expired while the machine was suspended is rejected, and then replaced.
#[expect(clippy::disallowed_methods, reason = "see above")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "see above")]
pub(crate) fn time_of_day() -> Timestamp {
    Timestamp::now()
}
