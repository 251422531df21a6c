//! Directories over LDAP: DNs and filters with `${…}`, whose values are escaped by their place.

pub mod ber;
pub(crate) mod correct;
mod filter;
mod name;
pub(crate) mod read;
mod request;
pub(crate) mod step;
mod template;
mod values;

pub use request::{Attribute, Change, Edit, Search, SearchScope};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
