//! `interval`, `timeout`, `confirm`: the frequency and the deadline of polls, and the number of confirmations.

use std::time::Duration;

use crate::section::{Section, duration, whole};
use crate::yaml::{Fields, Node, Reader};

/// Default time between polls.
pub(crate) const DEFAULT_INTERVAL: Duration = Duration::from_mins(5);
/// Default deadline of a poll. A shorter interval shortens it.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bounds of `interval`.
pub(crate) const INTERVAL: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);
/// Bounds of `timeout`. Below, no response could arrive in time. Above, a hung host would block its slot for too long.
pub(crate) const TIMEOUT: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_mins(5);
/// Maximum polls that a change of verdict may need.
const MAX_CONFIRM: u32 = 100;
/// Bounds of `confirm.absentFor`. With a longer one, a missing resource would stay missing without a visible reason.
const ABSENT_FOR: std::ops::RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(1);
/// Default of `confirm.absentFor` if a step stores part of the response. A gateway that reloads its routes responds
/// with 404 for some seconds.
const ABSENT_FOR_CHOSEN_IDS: Duration = Duration::from_secs(10);

/// Consecutive polls that confirm a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Section)]
pub struct Confirm {
    /// Polls that differ. Default: 1.
    #[key(whole(1..=MAX_CONFIRM), default = Self::default().drift)]
    pub drift: u32,
    /// Polls that find no resource. Default: 2.
    #[key(whole(1..=MAX_CONFIRM), default = Self::default().absent)]
    pub absent: u32,
    /// Polls that fail. Default: 3.
    #[key(whole(1..=MAX_CONFIRM), default = Self::default().unknown)]
    pub unknown: u32,
    /// Time without the resource. 0s to 1h, default 10s with store, else 0s.
    #[key(duration(ABSENT_FOR), default = Self::default().absent_for)]
    pub absent_for: Duration,
}

impl Default for Confirm {
    fn default() -> Self {
        Self { drift: 1, absent: 2, unknown: 3, absent_for: Duration::ZERO }
    }
}

/// Rejects a deadline after the next poll.
pub(crate) fn check_timeout(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    interval: Option<Duration>,
    timeout: Option<Duration>,
) -> Option<()> {
    let (interval, node) = (interval?, fields.get("timeout"));
    match node.filter(|_| timeout.is_some_and(|timeout| timeout > interval)) {
        Some(node) => {
            let (place, interval) = (fields.place("timeout"), humantime::format_duration(interval));
            reader.refuse(node.at, format!("{place}: it must not be longer than the interval, which is {interval}"))
        }
        None => Some(()),
    }
}

/// Applies the default for targets whose steps of `correct` store part of the response.
pub(crate) fn confirm_chosen_ids(confirm: Confirm, spec: &Node) -> Confirm {
    match spec.get("confirm").and_then(|confirm| confirm.get("absentFor")) {
        Some(_) => confirm,
        None => Confirm { absent_for: ABSENT_FOR_CHOSEN_IDS, ..confirm },
    }
}
