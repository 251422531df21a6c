//! The MySQL dialect.

pub(super) mod literal;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
