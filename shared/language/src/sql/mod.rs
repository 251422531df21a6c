//! SQL with `${…}` in it: where an expression may stand, and how its value is written there.
//!
//! It must not know which statements a target runs, nor how they are sent.

mod connection;
mod literal;
mod places;
mod template;
mod words;

pub use connection::Connection;
pub(crate) use connection::read_connection;
pub use template::SqlTemplate;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
