//! A program before it has any work: its settings, its connections and its tasks, one for each active target.

pub mod settings;
pub mod site;
mod supervisor;

pub use supervisor::supervise;
