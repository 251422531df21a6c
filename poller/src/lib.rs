//! The drift poller: reads the real state behind Kubernetes objects and keeps one condition on each of them true.
//!
//! It never writes outside and changes nothing of an object but that condition and the status fields that a target
//! publishes. [`engine`] decides, [`run`] does. The poller does not depend on the controller.

pub mod app;
mod command_line;
pub mod engine;
pub mod run;
