//! Guarded connections to PostgreSQL: one for each target, dialled by the rules for every way out, bounded in what it takes
//! in, and none of whose words reach a person but a SQLSTATE.
//!
//! It must not know what a poll or a correction is.

mod databases;
mod dial;
mod failure;
mod listener;
mod parameters;
mod query;
mod rows;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod tls;
mod transaction;
mod value;
mod wire;

pub use databases::{ConnectionPlace, Databases, Way};
pub use failure::SqlFailure;
pub use listener::Listener;
pub use parameters::{ConnectionParameters, SslMode};
pub use query::QueryOptions;
pub use transaction::{RunOptions, StatementFailure};
