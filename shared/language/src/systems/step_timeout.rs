//! `timeout` of a step: the deadline of one request or statement of a correction.
//!
//! A healthy system answers within the default. A cloud that creates a database during the request takes minutes.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::section::{Leaf, duration};

/// Deadline of a step without a `timeout`. It is about a hundred times the time that a healthy system needs, and people
/// still wait for it.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Bounds of `timeout`. The minimum is the resolution of the timers. The maximum is the time that clouds take to create
/// a cluster or a database; meanwhile the request holds one of its host's slots.
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_mins(10);

/// The deadline of a step. Without it, the default.
pub(crate) fn step_timeout() -> impl Leaf<Value = Duration> {
    duration(TIMEOUT)
}
