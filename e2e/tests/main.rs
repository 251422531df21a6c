//! All end-to-end behaviours, in one test binary so that they share one API server; one module a behaviour.

mod control_plane;
mod manifests;
mod outside;
mod process;
mod toxiproxy;
mod world;
