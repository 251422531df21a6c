//! Engine of a target: all decisions of the poller, as steps from inputs to effects.
//!
//! The shell performs the effects and delivers messages; the simulation does the same with a random scheduler. An
//! engine uses no client, task, channel or clock, so the same inputs give the same effects.

pub mod collection;
mod effect;
pub mod hints;
mod input;
pub mod judgement;
pub mod object;
pub mod poll;
pub mod schedule;
mod shared_state;
mod target;
pub mod writes;

pub use effect::{Effect, Member, PollOrder, Report, TraversalOrder, WrittenVerdict};
pub use input::{EndedTraversal, EndedWrite, Input, PollResult, Postponed};
pub use shared_state::SharedState;
pub use target::Target;

#[cfg(test)]
pub(crate) mod fixtures;
