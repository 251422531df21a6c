//! Each page of the cookbook as its reader would use it: what it says to apply is applied as it stands there, against the
//! server that it is about, from the distribution's package. Then the server is changed behind the object's back with its
//! own tools, stopped, and started again.
//!
//! Each test has a server of its own, on loopback and in a folder of its own. A server that is not installed fails its
//! test with the package to install, so that nothing is taken for shown that was not.

mod backup_job;
mod browser;
mod caddy;
mod client_certificate;
mod crossplane;
mod database;
mod database_statefulset;
mod docker_engine;
mod git;
mod installed;
mod load_balancer;
mod monitoring;
mod page;
mod postgres;
mod postgres_all_roles;
mod postgres_rows;
mod powerdns;
mod registry;
mod registry_tokens;
mod service_load_balancer;
