//! The objects of one target: what is known of each, which wait for room, and what people see of those that wait.

pub mod claimant;
pub mod deletions;
pub mod held_objects;
pub mod object_store;
pub mod waiting_lines;
