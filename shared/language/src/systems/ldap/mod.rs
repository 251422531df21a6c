//! Directories over LDAP: DNs and filters with `${…}`, whose values are escaped by their place.

pub(crate) mod correct;
mod filter;
mod name;
pub(crate) mod read;
pub(crate) mod step;
mod template;
mod values;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
