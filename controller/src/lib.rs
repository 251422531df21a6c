//! The drift controller: corrects external systems when the poller says that they drifted from the spec.
//!
//! The controller only watches the Kubernetes API. It never reads an external system to find drift. [`engine`]
//! decides, [`run`] executes.

pub mod app;
pub mod engine;
pub mod release;
pub mod run;
