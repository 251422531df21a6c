//! Guarded PostgreSQL connections: one for each target, with the address guard of all outgoing connections, limited
//! input, and errors reduced to SQLSTATEs.

mod databases;
mod dial;
mod failure;
mod listener;
mod parameters;
mod read_query;
mod rows;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod tls;
mod value;
mod wire;
mod write_statements;

pub use databases::{ConnectionPlace, Databases, Way};
pub use failure::SqlFailure;
pub use listener::Listener;
pub use parameters::{ConnectionParameters, SslMode};
pub use read_query::QueryOptions;
pub use write_statements::{RunOptions, StatementFailure, WriteStatement};
