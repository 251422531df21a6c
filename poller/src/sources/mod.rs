//! The ways to read the real state, one file for each kind of system.

pub(crate) mod http;
