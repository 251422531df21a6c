//! The guards of each connection to an external system: allowed addresses, trusted certificates, limits of a host.

pub(crate) mod allowance;
pub(crate) mod clock;
pub(crate) mod connect_errors;
pub(crate) mod dialling;
pub mod failure;
pub mod host_gate;
pub mod host_health;
pub(crate) mod roots;
pub(crate) mod stream;
pub mod write_progress;
