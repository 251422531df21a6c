//! The common base of the programs: settings, connections and tasks, one for each active target.

mod base;
pub mod program_environment;
pub mod settings;
mod supervisor;

pub use base::{Base, ProgramSettings};
pub use supervisor::supervise;
