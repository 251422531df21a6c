//! A program before it has any work: its settings, its connections and its tasks, one for each active target.

pub mod program_environment;
pub mod settings;
mod supervisor;

pub use supervisor::supervise;
