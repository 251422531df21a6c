//! Database servers, and SQL with `${…}`: the allowed places of expressions, and the encoding of their values.

mod connection;
pub(crate) mod correct;
mod dialect;
mod mysql;
mod places;
mod postgres;
pub(crate) mod query;
pub(crate) mod read;
mod template;
mod words;

pub use connection::Connection;
pub(crate) use connection::{connection, connections};
pub use dialect::Dialect;
pub use template::SqlTemplate;
