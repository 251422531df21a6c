//! The clocks of this folder: spans of a token's life and of a wait, and the time of day that a `Retry-After` is told against.
//!
//! The programs' clock stands above this crate. What is decided by these is only how long one waits.

use jiff::Timestamp;
use tokio::time::Instant;

/// A token that ran out while the machine was suspended is refused, and replaced then.
#[expect(clippy::disallowed_methods, reason = "see above")]
pub(super) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "see above")]
pub(super) fn time_of_day() -> Timestamp {
    Timestamp::now()
}
