//! The drift controller: corrects external systems when the poller says that they drifted from the spec.
//!
//! It watches the Kubernetes API and nothing else; it never reads an external system to find drift. [`engine`] decides, [`run`] does.

pub mod app;
pub mod engine;
pub mod release;
pub mod run;
