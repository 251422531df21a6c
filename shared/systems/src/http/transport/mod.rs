//! Connections for HTTP: dialled, encrypted and reused.

pub(super) mod client;
pub(super) mod clients;
pub(super) mod opened;
pub(super) mod resolver;
pub(super) mod tls;
