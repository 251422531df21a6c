//! The Kubernetes API as both programs use it: client, watches, Leases, configuration, clean-up, Events, telemetry.
//!
//! It contains everything that waits, connects or reads a clock, and that both need in the same way.

pub mod access;
pub mod cleanup;
pub mod client;
pub mod config;
pub mod events;
pub mod identities;
pub mod jobs;
pub mod kinds;
pub mod lease;
pub mod object_writer;
pub mod process;
pub mod program;
pub mod resources;
pub mod subscriptions;
pub mod telemetry;
pub mod under_way;
pub mod watch;
