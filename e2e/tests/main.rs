//! All end-to-end behaviours, in one test binary so that they share one API server; one module a behaviour.

mod admission;
mod configuration;
mod control_plane;
mod ending;
mod healing;
mod host_outage;
mod manifests;
mod misbehaving;
mod other_writers;
mod outside;
mod process;
mod rights;
mod secrets;
mod silence;
mod storms;
mod stuck;
mod toxiproxy;
mod vouching;
mod world;
