//! PostgreSQL servers, and SQL with `${…}`: the allowed places of expressions, and the encoding of their values.

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
