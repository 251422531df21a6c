//! Decides what the poller does, as functions over values.
//!
//! Tasks, clients, clocks and the environment are outside: time comes in as a value, and the work to be done goes out as one.

pub mod collection;
pub mod hints;
pub mod judgement;
pub mod object;
pub mod poll;
pub mod schedule;
pub mod writes;

#[cfg(test)]
pub(crate) mod fixtures;
