//! Guarded sessions with database servers: connections of each target, a client for each dialect, connection parameters,
//! limits, and errors reduced to status codes.

mod databases;
pub(crate) mod dial;
pub(crate) mod failure;
mod mysql;
mod options;
pub(crate) mod parameters;
mod postgres;
pub(crate) mod state;
pub(crate) mod value;

pub use databases::{ConnectionPlace, Databases, Way};
pub use failure::SqlFailure;
pub(crate) use options::LIFE;
pub use options::{QueryOptions, RunOptions, StatementFailure, WriteStatement};
pub use parameters::{ConnectionParameters, SslMode};
pub use postgres::Listener;
pub use state::SqlState;
