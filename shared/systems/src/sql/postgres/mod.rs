//! PostgreSQL connections, with limited input.

mod dial;
mod listener;
mod read_query;
mod rows;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod value;
mod wire;
mod write_statements;

pub use listener::Listener;
pub(crate) use read_query::ask;
pub(crate) use session::Session;
pub(crate) use write_statements::run;
