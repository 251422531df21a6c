//! The drift controller: corrects external systems when the poller says that they drifted from the spec.
//!
//! It watches the Kubernetes API and nothing else; it never reads an external system. [`core`] decides, the rest does.

pub mod core;
