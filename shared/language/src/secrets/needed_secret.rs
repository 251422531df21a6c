//! A Secret of the programs' namespace that a target needs.
//!
//! It names the Secret and holds none.

/// One Secret that a target needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededSecret {
    /// Who uses it: what its label `driftpoller.dev/credential` has to say.
    pub user: &'static str,
    /// Its name.
    pub name: String,
    /// Keys that it has to have.
    pub keys: Vec<String>,
    /// Host and port that it goes to, where these are literal and it goes there directly.
    pub host: Option<String>,
}

impl NeededSecret {
    /// A Secret with these keys, which goes to no host that is known.
    pub(crate) fn with_keys(user: &'static str, name: &str, keys: &[&str]) -> Self {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Self { user, name: name.to_owned(), keys, host: None }
    }

    /// The Secret of a database, which says by which of two sets of keys it speaks.
    pub(crate) fn of_database(user: &'static str, name: &str) -> Self {
        Self::with_keys(user, name, &[])
    }
}
