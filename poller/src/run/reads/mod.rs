//! Reads of external systems: one poll with its rates, its sources and the log of its failures.

pub mod outside;
pub mod poll;
pub mod sources;
pub mod troubles;
