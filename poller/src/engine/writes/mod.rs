//! Writes of verdicts: how urgent each is, when it is tried again, and what people are told of it.

pub mod announcement;
pub mod slow_lane;
pub mod urgency;
pub mod write_attempts;
