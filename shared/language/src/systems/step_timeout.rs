//! `timeout` of a step: the deadline of one request or statement of a correction.
//!
//! A healthy system answers within the default. A cloud that makes a database while the caller waits takes minutes.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::yaml::durations::duration;
use crate::yaml::reader::{Fields, Reader};

/// Bounds of `timeout`: above nothing, in the finest unit of the timers; up to what clouds take to make a cluster or a
/// database, while which the request holds one of its host's places.
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_mins(10);

/// Reads the step's own deadline; `Some(None)` where the default applies.
pub(crate) fn read_timeout(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Option<Duration>> {
    reader.optional(fields, "timeout", |reader, node, place| duration(reader, node, place, TIMEOUT))
}
