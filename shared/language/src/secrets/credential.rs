//! Where the values stand that a target's requests are known by, and that nobody else may know.
//!
//! Names, certificates and bundles of them are public and none of these. It names Secrets and holds none.

use super::secret_key::SecretKey;

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
