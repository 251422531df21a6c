//! Connections for HTTP: dialling, encryption and reuse.

pub(super) mod client;
pub(super) mod clients;
pub(super) mod proxy;
pub(super) mod tls;
