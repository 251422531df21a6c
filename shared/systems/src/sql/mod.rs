//! The shared parts of the dialects: connection parameters, the address guard, limits, and errors reduced to status
//! codes.

pub(crate) mod dial;
pub(crate) mod failure;
mod options;
pub(crate) mod parameters;
pub(crate) mod value;

pub use failure::SqlFailure;
pub(crate) use options::LIFE;
pub use options::{QueryOptions, RunOptions, StatementFailure, WriteStatement};
pub use parameters::{ConnectionParameters, SslMode};
