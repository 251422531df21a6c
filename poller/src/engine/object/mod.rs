//! The objects of one target: the state of each, the store of all, and the summary that people see.

pub mod deletion;
pub mod found_objects;
pub mod object_state;
pub mod object_store;
pub mod overview;
pub mod owed_verdicts;
