//! Writes of verdicts: which of them are news, their retries, and the Events about them.

pub mod announcement;
pub mod news;
pub mod removals;
pub mod write_attempts;

/// Maximum concurrent writes of one target, equal to the program's calls to the API server. More would only delay the
/// writes of other targets.
pub const WRITES_AT_ONCE: usize = 32;
