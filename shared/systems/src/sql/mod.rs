//! The shared parts of the dialects: connection parameters, the address guard, limits, and errors reduced to status
//! codes.

mod address;
pub(crate) mod failure;
mod options;
pub(crate) mod parameters;
pub(crate) mod value;

pub(crate) use address::resolve;
pub use failure::SqlFailure;
pub(crate) use options::{CONNECT_TIMEOUT, LIFE};
pub use options::{QueryOptions, RunOptions, StatementFailure, WriteStatement};
pub use parameters::{ConnectionParameters, SslMode};
