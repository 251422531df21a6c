//! `interval`, `timeout`, `confirm`: the frequency and the deadline of polls, and the number of confirmations.

use std::time::Duration;

use crate::yaml::{Fields, Node, Reader, duration};

/// Default time between polls.
const DEFAULT_INTERVAL: Duration = Duration::from_mins(5);
/// Default deadline of a poll. A shorter interval shortens it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bounds of `interval`.
pub(super) const INTERVAL: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);
/// Bounds of `timeout`. Below, no response could arrive in time. Above, a hung host would block its slot for too long.
const TIMEOUT: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_mins(5);
/// Maximum polls that a change of verdict may need.
const MAX_CONFIRM: u32 = 100;
/// Bounds of `confirm.absentFor`. With a longer one, a missing resource would stay missing without a visible reason.
const ABSENT_FOR: std::ops::RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(1);
/// Default of `confirm.absentFor` if a step stores part of the response. A gateway that reloads its routes responds
/// with 404 for some seconds.
const ABSENT_FOR_CHOSEN_IDS: Duration = Duration::from_secs(10);

/// Consecutive polls that confirm a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirm {
    /// Polls with a difference before False becomes True; default 1.
    pub drift: u32,
    /// Polls without a resource before an absence is confirmed; default 2.
    pub absent: u32,
    /// Failed polls before False becomes Unknown; default 3.
    pub unknown: u32,
    /// Minimum time without the resource before its absence is confirmed. Default 10s if a step stores part of
    /// the response, otherwise 0s. In the first case the system may choose the id, so a needless creation makes
    /// a second resource.
    pub absent_for: Duration,
}

impl Default for Confirm {
    fn default() -> Self {
        Self { drift: 1, absent: 2, unknown: 3, absent_for: Duration::ZERO }
    }
}

pub(crate) fn read_times(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<(Duration, Duration)> {
    let interval =
        reader.or(fields, "interval", DEFAULT_INTERVAL, |reader, node, place| duration(reader, node, place, INTERVAL));
    let timeout = reader.optional(fields, "timeout", |reader, node, place| duration(reader, node, place, TIMEOUT));
    let (interval, timeout) = (interval?, timeout?);
    match (timeout, fields.get("timeout")) {
        (Some(timeout), Some(node)) if timeout > interval => {
            let interval = humantime::format_duration(interval);
            reader.refuse(node.at, format!("timeout: it must not be longer than the interval, which is {interval}"))
        }
        _ => Some((interval, timeout.unwrap_or(DEFAULT_TIMEOUT.min(interval)))),
    }
}

pub(crate) fn read_confirm(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Confirm> {
    let fields = reader.fields(node, place, &["drift", "absent", "unknown", "absentFor"])?;
    let default = Confirm::default();
    let polls = |reader: &mut Reader<'_>, node: &Node, place: &str| reader.whole(node, place, 1..=MAX_CONFIRM);
    let drift = reader.or(&fields, "drift", default.drift, polls);
    let absent = reader.or(&fields, "absent", default.absent, polls);
    let unknown = reader.or(&fields, "unknown", default.unknown, polls);
    let absent_for = reader
        .or(&fields, "absentFor", default.absent_for, |reader, node, place| duration(reader, node, place, ABSENT_FOR));
    Some(Confirm { drift: drift?, absent: absent?, unknown: unknown?, absent_for: absent_for? })
}

/// Applies the default for targets whose steps of `correct` store part of the response.
pub(crate) fn confirm_chosen_ids(confirm: Confirm, spec: &Node) -> Confirm {
    match spec.get("confirm").and_then(|confirm| confirm.get("absentFor")) {
        Some(_) => confirm,
        None => Confirm { absent_for: ABSENT_FOR_CHOSEN_IDS, ..confirm },
    }
}
