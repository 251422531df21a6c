//! `interval`, `timeout`, `confirm`: how often an object is polled, for how long, and how often a finding repeats.

use std::time::Duration;

use crate::yaml::Node;
use crate::yaml::durations::duration;
use crate::yaml::reader::{Fields, Reader};

/// Default time between polls.
const DEFAULT_INTERVAL: Duration = Duration::from_mins(5);
/// Default deadline of a poll; a shorter interval shortens it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bounds of `interval`.
const INTERVAL: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(24);
/// Bounds of `timeout`: below, no answer could be in time; above, a hung host would hold its place for too long.
const TIMEOUT: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_mins(5);
/// Most polls that a change of verdict may need.
const MAX_CONFIRM: u32 = 100;
/// Bounds of `confirm.absentFor`: beyond, nobody would see why nothing is made anew.
const ABSENT_FOR: std::ops::RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(1);
/// Default of `confirm.absentFor` where a step stores what the server answers. A gateway that reloads its routes answers 404
/// for some seconds.
const ABSENT_FOR_CHOSEN_IDS: Duration = Duration::from_secs(10);

/// Polls in a row that confirm a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirm {
    /// Polls that differ before False becomes True; default 1.
    pub drift: u32,
    /// Polls that find nothing before an absence is believed; default 2.
    pub absent: u32,
    /// Failed polls before False becomes Unknown; default 3.
    pub unknown: u32,
    /// How long nothing must be found of a resource that was there, before its absence is believed. Default 10s where a step
    /// stores what the server answers, else 0s: the system may choose the id, and a creation too many makes a second resource.
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

/// The same where steps of `correct` store what the server answers.
pub(crate) fn confirm_chosen_ids(confirm: Confirm, spec: &Node) -> Confirm {
    match spec.get("confirm").and_then(|confirm| confirm.get("absentFor")) {
        Some(_) => confirm,
        None => Confirm { absent_for: ABSENT_FOR_CHOSEN_IDS, ..confirm },
    }
}
