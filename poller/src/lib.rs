//! The drift poller: reads the real state behind Kubernetes objects and keeps one condition on each of them true.
//!
//! It never writes outside and touches nothing of an object but that condition. It must not know the controller.

pub mod core;
