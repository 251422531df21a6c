//! Connections to MySQL and to servers that speak its protocol.

mod client;
mod dial;
mod failure;
mod login;
mod open;
mod packets;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod value;

pub(crate) use session::Session;
