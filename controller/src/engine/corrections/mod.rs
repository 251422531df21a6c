//! One correction as a value: what is to be done, whose resource it is, what became of it, and why it waits.

pub mod claim;
pub mod correction;
pub mod doubt;
pub mod finalizer_patches;
pub mod held;
mod idempotency_key;
pub mod outcome;
mod outcome_log;
