//! The two programs as users deploy them: two Pods from the shipped images and manifests on a real node.
//!
//! `cargo e2e-node` runs the tests one after the other, because there is one installation.

mod configuration;
mod healing;
mod images;
mod jobs;
mod killing;
mod rollout;
