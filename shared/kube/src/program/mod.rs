//! The common base of the programs: settings, connections and tasks, one for each active target.

pub mod program_environment;
pub mod settings;
mod supervisor;

pub use supervisor::supervise;
