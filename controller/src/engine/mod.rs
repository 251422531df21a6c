//! Engine of a target: all decisions of the controller, as steps from inputs to effects.
//!
//! The shell performs the effects and delivers messages; the simulation does the same with a random scheduler. An
//! engine uses no client, task, channel or clock, so the same inputs give the same effects.

pub mod corrections;
pub mod decide;
mod effect;
pub mod execution;
mod input;
pub mod memory;
mod now;
pub mod objects;
pub mod rendering;
mod shared_state;
mod target;

pub use effect::{Effect, Report};
pub use input::Input;
pub use now::Now;
pub use shared_state::SharedState;
pub use target::Target;

pub mod correction_limits;
#[cfg(test)]
pub(crate) mod fixtures;
