//! The engine of a target: everything that the controller decides, as steps from inputs to effects.
//!
//! The shell performs the effects and carries messages; the simulation does the same with a random scheduler. An engine
//! knows no client, task, channel or clock: the same inputs give the same effects.

mod carrying;
mod effect;
mod held_counts;
mod input;
mod program;
mod target;

pub use carrying::{Answer, Carrying, Done, Next, Operation, StepAnswer, Work};
pub use effect::{Effect, Report};
pub use input::{Input, Now};
pub use program::Program;
pub use target::Target;
