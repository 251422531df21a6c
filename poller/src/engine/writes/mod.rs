//! Writes of verdicts: how urgent each is, when it is tried again, and what people are told of it.

pub mod announcement;
pub mod slow_lane;
pub mod urgency;
pub mod write_attempts;

/// Writes of one target under way at once: as many as the program has calls of the API server. More would stand before the
/// writes of other targets.
pub const WRITES_AT_ONCE: usize = 32;
