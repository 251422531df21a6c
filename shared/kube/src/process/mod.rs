//! What a program is made of before it has any work: settings, signals, clock, tasks, one child for each target.
//!
//! It must not know what the work is.

pub mod clock;
pub mod instance;
pub mod kill_point;
pub mod progress;
pub mod settings;
pub mod shutdown;
pub mod site;
pub(crate) mod supervisor;
pub mod tasks;

pub use supervisor::supervise;
