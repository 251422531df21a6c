//! The external systems of the tests: real ones, and one that misbehaves on demand.

pub mod load_balancers;
pub mod outside;
pub mod postgres;
pub mod toxiproxy;
