//! PostgreSQL servers, and SQL with `${…}` in it: where an expression may stand, and how its value is written there.

mod connection;
pub(crate) mod correct;
mod literal;
mod places;
pub(crate) mod read;
mod template;
mod words;

pub use connection::Connection;
pub(crate) use connection::read_connection;
pub use template::SqlTemplate;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
