//! Connections to MySQL and to servers that speak its protocol.

mod failure;
mod open;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod value;

pub(crate) use session::Session;
