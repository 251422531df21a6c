//! All end-to-end behaviours, in one test binary so that they share one API server; one module a behaviour.

mod cleanup;
mod configuration;
mod control_plane;
mod ending;
mod healing;
mod manifests;
mod misbehaving;
mod other_writers;
mod outside;
mod process;
mod rights;
mod secrets;
mod silence;
mod toxiproxy;
mod vouching;
mod world;
