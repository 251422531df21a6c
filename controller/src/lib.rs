//! The drift controller: corrects external systems when the poller says that they drifted from the spec.
//!
//! It watches the Kubernetes API and nothing else; it never reads an external system. [`engine`] decides with the rules of
//! [`core`], the rest does.

pub mod app;
mod clean_up;
pub mod context;
pub mod core;
pub mod engine;
pub mod executor;
pub mod handover;
pub mod held_objects;
pub mod metrics;
pub mod notices;
pub mod release;
pub mod requests;
pub mod secrets;
pub mod target_actor;
pub mod target_work;
pub mod vouch;
