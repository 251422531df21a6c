//! What the controller decides, as functions over values.
//!
//! The shell observes, asks [`decide::decide`], and does what it is told. Nothing here knows a client, a task, a
//! clock or the environment; time comes in as a [`drift_api::timing::moment::Moment`].

pub mod api_refusal;
pub mod attempts;
pub mod breaker;
pub mod claim;
pub mod correction;
pub mod decide;
pub mod decision;
pub mod deletion;
pub mod deletions;
pub mod doubt;
pub mod execution;
pub mod facts;
pub mod finalizer;
pub mod held;
pub mod holdings;
pub mod job;
pub mod limits;
pub mod lines;
pub mod manifests;
pub mod memory;
pub mod nudge;
pub mod outcome;
pub mod plan;
pub mod rendering;
pub mod roster;
pub mod secrets;
pub mod situation;
pub mod statements;
pub mod vouching;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod history;
