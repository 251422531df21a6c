//! The drift poller: reads the real state behind Kubernetes objects and keeps one condition on each of them true.
//!
//! It never writes outside and touches nothing of an object but that condition. It must not know the controller.

pub mod actor;
pub mod app;
mod clean_up;
mod command_line;
pub mod context;
pub mod core;
pub mod counts;
pub(crate) mod hint_inbox;
pub mod hints;
pub mod in_force;
pub mod metrics;
mod notices;
pub mod outside;
pub mod page;
pub mod poll;
pub mod shared_rate;
pub mod sources;
pub mod target_work;
pub mod troubles;
pub mod unnamed;
pub mod webhooks;
pub mod write;
