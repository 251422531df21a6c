//! Guarded database connections, one for each target, to servers of every dialect.

mod session;
mod store;

pub use store::{ConnectionPlace, Databases, Way};
