//! The drift poller: reads the real state behind Kubernetes objects and keeps one condition on each of them up to date.
//!
//! It never writes to external systems. On objects it changes only that condition and the status fields that a target
//! publishes. [`engine`] decides, [`run`] executes. The poller does not depend on the controller.

pub mod app;
mod command_line;
pub mod engine;
pub mod run;
