//! The ConfigMaps with targets: watched, parsed, and judged as the active targets.
//!
//! A bad document never takes down good ones: the last good text of each stays.

mod active_targets;
mod last_good;
mod listed;
mod news;
mod watch;

pub use active_targets::ActiveTargets;
pub use last_good::LastGood;
pub use listed::{documents_in, list_config_maps};
pub use watch::{ConfigSettings, ConfigWatch, Configuration, Documents, Judge};
