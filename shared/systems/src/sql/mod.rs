//! Guarded database connections: one for each target, with the address guard of all outgoing connections, limited
//! input, and errors reduced to status codes. Each dialect has its own folder.

mod address;
mod databases;
pub(crate) mod failure;
mod options;
pub(crate) mod parameters;
pub(crate) mod session;

pub(crate) use address::resolve;
pub use databases::{ConnectionPlace, Databases, Way};
pub use failure::SqlFailure;
pub use options::{QueryOptions, RunOptions, StatementFailure, WriteStatement};
pub use parameters::{ConnectionParameters, SslMode};
