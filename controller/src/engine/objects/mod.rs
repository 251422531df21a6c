//! The objects of one target: their known state, the waiting lines, and the list of held objects.

pub mod claimant;
pub mod deletions;
pub mod handover;
pub mod held_objects;
pub mod object_store;
pub mod read_proof;
pub mod waiting_lines;
