//! Executes the engine's decisions: live reads, requests, records on objects, Events and metrics.

pub mod attestation;
pub(crate) mod clean_up;
pub mod context;
pub mod executor;
pub mod handover;
pub mod metrics;
pub mod notices;
pub mod published_holds;
pub mod requests;
pub mod secrets;
pub mod target_actor;
pub mod target_work;
