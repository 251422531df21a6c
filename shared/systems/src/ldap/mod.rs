//! Guarded LDAP sessions: one for each read or correction, with the address guard of all outgoing connections, limited
//! input, and errors reduced to result codes.
//!
//! The encoding is our own, because the parser of the crate `lber` recurses as deeply as the server nests elements.

mod failure;
mod messages;
mod parameters;
mod responses;
pub(crate) mod result_code;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use failure::LdapFailure;
pub use parameters::DirectoryParameters;
pub use responses::SearchAnswer;
pub use result_code::ResultCode;
pub use session::DirectoryServer;
