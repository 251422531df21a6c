//! The Secrets in the programs' namespace that a target needs, and the credentials that requests take from them.
//!
//! It contains names of Secrets, not their values.

use crate::secrets::secret_key::SecretKey;
use crate::systems::sql::Dialect;

/// One Secret that a target needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededSecret {
    /// The program that uses it: the required value of its label `driftpoller.dev/credential`.
    pub user: &'static str,
    /// The Secret's name.
    pub name: String,
    /// The required data keys.
    pub keys: Vec<String>,
    /// Host and port of its destination, if they are literal and it is sent there directly.
    pub host: Option<String>,
}

impl NeededSecret {
    /// Creates a needed Secret with these keys and no known host.
    pub(crate) fn with_keys(user: &'static str, name: &str, keys: &[&str]) -> Self {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Self { user, name: name.to_owned(), keys, host: None }
    }

    /// Creates a needed Secret of a database. Its content selects one of two sets of keys.
    pub(crate) fn of_database(user: &'static str, name: &str) -> Self {
        Self::with_keys(user, name, &[])
    }
}

/// Data keys of Secrets of the types `kubernetes.io/basic-auth` and `kubernetes.io/tls`, and of those
/// for identity servers.
pub(crate) const PASSWORD: &str = "password";
pub(crate) const PRIVATE_KEY: &str = "tls.key";
pub(crate) const SIGNING_KEY: &str = "privateKey";
pub(crate) const SECRET_ACCESS_KEY: &str = "secretAccessKey";
pub(crate) const SESSION_TOKEN: &str = "sessionToken";
pub(crate) const CLIENT_SECRET: &str = "clientSecret";

/// A credential of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// The value of this key.
    Key(SecretKey),
    /// The values of the parameters of a query, in this key.
    Parameters(SecretKey),
    /// The password of a database.
    Database {
        /// The kind of its server.
        dialect: Dialect,
        /// The Secret that describes it.
        secret: String,
    },
}

impl Credential {
    /// Creates the credential of a database.
    pub(crate) fn of_database(dialect: Dialect, secret: &str) -> Self {
        Self::Database { dialect, secret: secret.to_owned() }
    }

    /// Creates a credential from one key of a Secret.
    pub(crate) fn of_key(name: &str, key: &str) -> Self {
        Self::Key(SecretKey { name: name.to_owned(), key: key.to_owned() })
    }
}
