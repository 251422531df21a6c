//! The operating system: signals, clocks, tasks, and progress on a terminal.

pub mod clock;
pub mod instance;
pub mod kill_point;
pub mod progress;
pub mod shutdown;
pub mod tasks;
