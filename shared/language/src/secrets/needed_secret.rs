//! The Secrets of the programs' namespace that a target needs, and the credentials that requests take from them.
//!
//! It names Secrets and holds none.

use super::secret_key::SecretKey;

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

/// The keys of Secrets of the types `kubernetes.io/basic-auth` and `kubernetes.io/tls`, and of those for identity servers.
pub(crate) const PASSWORD: &str = "password";
pub(crate) const PRIVATE_KEY: &str = "tls.key";
pub(crate) const CLIENT_SECRET: &str = "clientSecret";

/// A credential that requests come with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The value of this key.
    Key(SecretKey),
    /// The password of the database that the Secret of this name describes.
    Database(String),
}

impl Credential {
    /// The value of a key of a Secret.
    pub(crate) fn of_key(name: &str, key: &str) -> Self {
        Self::Key(SecretKey { name: name.to_owned(), key: key.to_owned() })
    }
}
