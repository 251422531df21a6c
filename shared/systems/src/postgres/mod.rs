//! Guarded connections to PostgreSQL: one for each target, dialled by the rules for every way out, bounded in what it takes
//! in, and none of whose words reach a person but a SQLSTATE.

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
