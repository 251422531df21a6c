//! The Kubernetes that tests run on: a control plane, kubectl, and a gate in front of the API server.

pub mod api_gate;
pub mod control_plane;
pub mod kubectl;
