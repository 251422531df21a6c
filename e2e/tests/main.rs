//! All end-to-end behaviours, in one test binary so that they share one API server; one module a behaviour.

mod admission;
mod claim;
mod configuration;
mod control_plane;
mod corrections;
mod crashes;
mod deletion;
mod ending;
mod healing;
mod kinds;
mod manifests;
mod misbehaving;
mod ordering;
mod other_writers;
mod outside;
mod process;
mod replicas;
mod rights;
mod secrets;
mod silence;
mod staleness;
mod toxiproxy;
mod vouching;
mod world;
