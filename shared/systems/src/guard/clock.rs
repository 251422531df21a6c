//! The clocks of this crate: the age of a connection or a token, spans of a wait, and the time of day that a `Retry-After` is
//! told against.
//!
//! The programs' clock stands above this crate. These decide only how long one waits, and when a connection is replaced.

use jiff::Timestamp;
use tokio::time::Instant;

/// A token that ran out while the machine was suspended is refused, and replaced then.
#[expect(clippy::disallowed_methods, reason = "see above")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "see above")]
pub(crate) fn time_of_day() -> Timestamp {
    Timestamp::now()
}
