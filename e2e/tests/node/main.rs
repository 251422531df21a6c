//! The two programs as what users deploy: two Pods from the shipped images and manifests on a real node.
//!
//! `cargo e2e-node` runs them one after the other: there is one installation.

mod configuration;
mod healing;
mod images;
mod jobs;
mod killing;
mod rollout;
