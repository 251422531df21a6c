//! The ConfigMaps with targets: watched, parsed, and turned into the active targets.
//!
//! An invalid document never affects valid ones: the last valid version of each stays active.

mod last_good;
mod listed;
mod news;
mod watch;

pub use last_good::LastGood;
pub use listed::{creation_times_of, documents_in, list_config_maps};
pub use watch::{ConfigSettings, ConfigWatch, Configuration, Documents, Judge, Sources};
