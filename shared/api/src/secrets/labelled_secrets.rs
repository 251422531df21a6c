//! The values of the Secrets that their owners labelled for this program.
//!
//! A credential is only sent where its owner allows it: the owner labels the Secret for the program and may list the
//! allowed hosts. This file makes that decision over plain data. No secret value is ever shown: not by `Debug`, not
//! in an error.

use std::collections::BTreeMap;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use crate::names::HOSTS_ANNOTATION;

/// Every Secret that this program may use, by name. Replaced as a whole if one changes.
#[derive(Clone, Debug, Default)]
pub struct LabelledSecrets {
    secrets: BTreeMap<String, Arc<LabelledSecret>>,
    listed: bool,
    /// The reason why they could not be listed, if so.
    refused: Option<String>,
}

/// The version of a Secret: its uid and resourceVersion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SecretVersion {
    /// The Secret's `metadata.uid`.
    pub uid: String,
    /// The Secret's `metadata.resourceVersion`.
    pub resource_version: String,
}

/// One Secret: its allowed hosts, and its keys.
#[derive(Clone, Debug)]
pub struct LabelledSecret {
    hosts: AllowedHosts,
    /// Values by key. For an unusable value, the problem to report in errors.
    data: BTreeMap<String, Result<SecretString, &'static str>>,
    version: SecretVersion,
}

/// The hosts that may receive a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AllowedHosts {
    /// Any host, because the owner listed none.
    Any,
    /// The listed hosts, each `host` (every port) or `host:port` in lower case, or `unix:/path`.
    Only(Vec<String>),
}

/// The problem of a value that is not text.
const NOT_TEXT: &str = "not UTF-8 text";

/// Prefix of a unix socket's name.
const UNIX: &str = "unix:";

/// The reason why a credential cannot be used. Contains names of Secrets, keys and hosts, never a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum CredentialError {
    /// The target lists credentials by namespace, and none for that of the object.
    #[error("{place} has no entry for {}; add one to the target", of_namespace(namespace.as_deref()))]
    NoEntry {
        /// The list in the target.
        place: Arc<str>,
        /// The object's namespace, if its kind has them.
        namespace: Option<Arc<str>>,
    },
    /// There is no labelled Secret of this name.
    #[error("Secret {name} does not exist or is not labelled for this program")]
    NoSecret {
        /// The Secret's name.
        name: String,
    },
    /// The API server does not list the Secrets of its namespace, for a reason without a value.
    #[error("Secret {name} cannot be read: {cause}")]
    NotListed {
        /// The Secret's name.
        name: String,
        /// The reason.
        cause: String,
    },
    /// The object gives no name of a Secret, for the secret that a target declares with this name.
    #[error("secrets.{0}: fromObject gives no name of a Secret for this object")]
    Unnamed(String),
    /// The Secret lacks the key.
    #[error("Secret {name} has no key {key}")]
    NoKey {
        /// The Secret's name.
        name: String,
        /// The missing key.
        key: String,
    },
    /// The value has the wrong format for its use: not text, not a header value, not a PEM bundle.
    #[error("Secret {name} key {key} is {problem}")]
    Unusable {
        /// The Secret's name.
        name: String,
        /// The key of the value.
        key: String,
        /// The problem, from a fixed list of texts.
        problem: &'static str,
    },
    /// The owner listed no allowed hosts, and objects choose the host.
    #[error("Secret {name} names no hosts ({HOSTS_ANNOTATION}), which it has to where objects choose the host")]
    HostsNotNamed {
        /// The Secret's name.
        name: String,
    },
    /// The owner listed the allowed hosts, and this one is not among them.
    #[error("Secret {name} may not be sent to {host}")]
    HostNotAllowed {
        /// The Secret's name.
        name: String,
        /// The host and port of the request.
        host: String,
    },
    /// The body of the request has no field or item there.
    #[error("the body has no place {pointer} for the credential of Secret {name}")]
    NoPlace {
        /// The Secret's name.
        name: String,
        /// The JSON Pointer.
        pointer: String,
    },
    /// The token of the program's ServiceAccount cannot be used: its path, and a problem from a fixed list of texts.
    #[error("projected token {0} {1}")]
    ProjectedToken(String, &'static str),
}

fn of_namespace(namespace: Option<&str>) -> String {
    namespace.map_or_else(|| "objects without a namespace".to_owned(), |name| format!("namespace {name}"))
}

impl LabelledSecret {
    /// Creates a Secret from its hosts annotation (comma-separated `host`, `host:port` or `unix:/path`; absent means
    /// any host, present and empty means none) and its decoded data.
    #[must_use]
    pub fn new(hosts: Option<&str>, data: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        Self {
            hosts: hosts.map_or(AllowedHosts::Any, AllowedHosts::parse),
            data: data
                .into_iter()
                .map(|(key, value)| (key, String::from_utf8(value).map(SecretString::from).map_err(|_| NOT_TEXT)))
                .collect(),
            version: SecretVersion::default(),
        }
    }

    /// Returns the Secret with this version.
    #[must_use]
    pub fn in_version(self, version: SecretVersion) -> Self {
        Self { version, ..self }
    }

    /// Returns the Secret with this problem in place of one key's value.
    #[must_use]
    pub fn without_value(mut self, key: String, problem: &'static str) -> Self {
        self.data.insert(key, Err(problem));
        self
    }

    /// Returns the size of its keys and values in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let text = |value: &Result<SecretString, _>| value.as_ref().map_or(0, |text| text.expose_secret().len());
        self.data.iter().map(|(key, value)| key.len() + text(value)).sum()
    }

    /// Returns the version of the Secret.
    #[must_use]
    pub const fn version(&self) -> &SecretVersion {
        &self.version
    }

    /// Checks that it may be sent to a host (`host:port`, an IPv6 address in brackets, or `unix:/path`). `name` is its
    /// name in errors. If objects choose the host, its owner must have listed the allowed hosts.
    ///
    /// # Errors
    /// Fails if it may not be sent there.
    pub fn check_host(&self, name: &str, host_and_port: &str, has_chosen_host: bool) -> Result<(), CredentialError> {
        if has_chosen_host && self.hosts == AllowedHosts::Any {
            return Err(CredentialError::HostsNotNamed { name: name.to_owned() });
        }
        if !self.hosts.allow(host_and_port) {
            return Err(CredentialError::HostNotAllowed { name: name.to_owned(), host: host_and_port.to_owned() });
        }
        Ok(())
    }

    /// Returns true if its owner listed the allowed hosts.
    #[must_use]
    pub fn names_hosts(&self) -> bool {
        self.hosts != AllowedHosts::Any
    }

    /// Returns the value of one key. The caller checks the host separately.
    ///
    /// # Errors
    /// Fails if it has no such key with text.
    pub fn text(&self, name: &str, key: &str) -> Result<&SecretString, CredentialError> {
        let value = self.data.get(key);
        let value = value.ok_or_else(|| CredentialError::no_key(name, key))?;
        value.as_ref().map_err(|problem| CredentialError::unusable(name, key, problem))
    }
}

/// Returns a value without the line end of Secrets made from files and by `echo`, which is not a part of the
/// credential.
#[must_use]
pub fn without_line_end(value: &SecretString) -> &str {
    value.expose_secret().trim_end_matches(['\r', '\n'])
}

impl AllowedHosts {
    fn parse(annotation: &str) -> Self {
        let entries = annotation.split(',').map(str::trim).map(|entry| match entry.starts_with(UNIX) {
            // A path is case-sensitive.
            true => entry.to_owned(),
            false => entry.to_lowercase(),
        });
        Self::Only(entries.filter(|entry| !entry.is_empty()).collect())
    }

    fn allow(&self, host_and_port: &str) -> bool {
        let Self::Only(entries) = self else { return true };
        if host_and_port.starts_with(UNIX) {
            return entries.iter().any(|entry| entry == host_and_port);
        }
        let wanted = host_and_port.to_lowercase();
        let host = wanted.rsplit_once(':').map_or(wanted.as_str(), |(host, _)| host);
        entries.iter().any(|entry| *entry == wanted || entry == host)
    }
}

impl LabelledSecrets {
    /// Returns true if the Secrets were listed. Before that, a missing Secret may exist.
    #[must_use]
    pub const fn are_listed(&self) -> bool {
        self.listed
    }

    /// Creates the set of all listed Secrets.
    #[must_use]
    pub const fn of(secrets: BTreeMap<String, Arc<LabelledSecret>>) -> Self {
        Self { secrets, listed: true, refused: None }
    }

    /// Creates the empty set for a program that may not list Secrets, for this reason. None can be used, and nothing is
    /// known about any.
    #[must_use]
    pub fn refused(cause: String) -> Self {
        Self { refused: Some(cause), ..Self::from_iter([]) }
    }

    /// Returns true if the API server refuses to list them.
    #[must_use]
    pub const fn are_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// Adds or replaces one Secret.
    pub fn insert(&mut self, name: String, secret: LabelledSecret) {
        self.secrets.insert(name, Arc::new(secret));
    }

    /// Removes one Secret after its deletion, or after its label was removed.
    pub fn remove(&mut self, name: &str) {
        self.secrets.remove(name);
    }

    /// Checks that a Secret, or a token obtained with it, may be sent to a host.
    ///
    /// # Errors
    /// Fails if it is not among the labelled ones, or may not be sent there.
    pub fn check_host(&self, name: &str, host_and_port: &str) -> Result<(), CredentialError> {
        self.secret_for(name, host_and_port).map(drop)
    }

    /// Returns a Secret by name. The caller checks the host separately.
    ///
    /// # Errors
    /// Fails if it is not among the labelled ones.
    pub fn secret(&self, name: &str) -> Result<&LabelledSecret, CredentialError> {
        self.secrets.get(name).map(Arc::as_ref).ok_or_else(|| match &self.refused {
            Some(cause) => CredentialError::NotListed { name: name.to_owned(), cause: cause.clone() },
            None => CredentialError::NoSecret { name: name.to_owned() },
        })
    }

    fn secret_for(&self, name: &str, host_and_port: &str) -> Result<&LabelledSecret, CredentialError> {
        let secret = self.secret(name)?;
        secret.check_host(name, host_and_port, false)?;
        Ok(secret)
    }

    /// Checks that a Secret may be used if objects choose the host: its owner must have listed the allowed hosts.
    ///
    /// # Errors
    /// [`CredentialError::HostsNotNamed`] if it lists none.
    pub fn check_hosts_are_named(&self, name: &str) -> Result<(), CredentialError> {
        match self.secrets.get(name).map(Arc::as_ref) {
            Some(LabelledSecret { hosts: AllowedHosts::Any, .. }) => {
                Err(CredentialError::HostsNotNamed { name: name.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Returns the value of a key that determines the host, which the caller then checks. `None` without such a key.
    ///
    /// # Errors
    /// Fails if the Secret is not among the labelled ones, or the value is not text.
    pub fn value(&self, name: &str, key: &str) -> Result<Option<&SecretString>, CredentialError> {
        let secret = self.secret(name)?;
        let Some(value) = secret.data.get(key) else { return Ok(None) };
        value.as_ref().map(Some).map_err(|problem| CredentialError::unusable(name, key, problem))
    }

    /// Returns the value of a key without its line end. `None` without such a key, or if it is empty.
    ///
    /// # Errors
    /// Fails like [`LabelledSecrets::value`].
    pub fn line(&self, name: &str, key: &str) -> Result<Option<String>, CredentialError> {
        let value = self.value(name, key)?.map(without_line_end);
        Ok(value.filter(|value| !value.is_empty()).map(str::to_owned))
    }

    /// Returns the value of one key for a request to `host_and_port` (`host:port`, an IPv6 address in
    /// brackets, or `unix:/path`).
    ///
    /// # Errors
    /// Fails if the Secret is not among the labelled ones, may not be sent there, or has no such key with text.
    pub fn credential(&self, name: &str, key: &str, host_and_port: &str) -> Result<&SecretString, CredentialError> {
        self.secret_for(name, host_and_port)?.text(name, key)
    }
}

impl FromIterator<(String, LabelledSecret)> for LabelledSecrets {
    fn from_iter<T: IntoIterator<Item = (String, LabelledSecret)>>(secrets: T) -> Self {
        Self::of(secrets.into_iter().map(|(name, secret)| (name, Arc::new(secret))).collect())
    }
}

impl CredentialError {
    /// Returns the same error about a Secret with this display name.
    #[must_use]
    pub fn about(mut self, called: &str) -> Self {
        match &mut self {
            Self::NoSecret { name }
            | Self::NotListed { name, .. }
            | Self::NoKey { name, .. }
            | Self::Unusable { name, .. }
            | Self::HostsNotNamed { name }
            | Self::NoPlace { name, .. }
            | Self::HostNotAllowed { name, .. } => called.clone_into(name),
            Self::NoEntry { .. } | Self::Unnamed(_) | Self::ProjectedToken(..) => {}
        }
        self
    }

    /// Creates the error for a missing key.
    #[must_use]
    pub fn no_key(name: &str, key: &str) -> Self {
        Self::NoKey { name: name.to_owned(), key: key.to_owned() }
    }

    /// Creates the error for an unusable value, with a fixed text as reason.
    #[must_use]
    pub fn unusable(name: &str, key: &str, problem: &'static str) -> Self {
        Self::Unusable { name: name.to_owned(), key: key.to_owned(), problem }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn secrets(hosts: Option<&str>) -> LabelledSecrets {
        let data = [("token".to_owned(), b"canary".to_vec()), ("blob".to_owned(), vec![0xff, 0xfe])];
        [("api".to_owned(), LabelledSecret::new(hosts, data))].into_iter().collect()
    }

    #[test]
    fn a_secret_goes_only_to_hosts_its_owner_named() {
        let cases = [
            (None, "anything:1", true),
            (Some("api.example"), "api.example:443", true),
            (Some("api.example"), "api.example:8443", true),
            (Some("API.example:8443 , other"), "api.Example:8443", true),
            (Some("api.example:8443"), "api.example:443", false),
            (Some("api.example"), "evil.api.example:443", false),
            (Some("api.example"), "api.example.evil:443", false),
            (Some("[::1]"), "[::1]:80", true),
            (Some("[::1]:81"), "[::1]:80", false),
            (Some(""), "api.example:443", false),
            (Some(","), ":443", false),
            (Some("unix:/run/Docker.sock, api.example"), "unix:/run/Docker.sock", true),
            (Some("unix:/run/Docker.sock"), "unix:/run/docker.sock", false),
            (Some("unix:/run"), "unix:/run/docker.sock", false),
            (Some("unix"), "unix:/run/docker.sock", false),
            (Some("api.example"), "unix:/run/docker.sock", false),
        ];
        for (annotation, host, allowed) in cases {
            let got =
                secrets(annotation).credential("api", "token", host).map(|value| value.expose_secret().to_owned());
            assert_eq!(got.is_ok(), allowed, "{annotation:?} {host}: {got:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let secrets = secrets(Some("h"));
        let text = |name, key, host| secrets.credential(name, key, host).unwrap_err().to_string();
        assert_eq!(text("nope", "token", "h:1"), "Secret nope does not exist or is not labelled for this program");
        assert_eq!(text("api", "nope", "h:1"), "Secret api has no key nope");
        assert_eq!(text("api", "blob", "h:1"), "Secret api key blob is not UTF-8 text");
        assert_eq!(text("api", "token", "x:1"), "Secret api may not be sent to x:1");
    }

    #[test]
    fn a_removed_secret_is_not_given_out() {
        let mut secrets = secrets(None);
        secrets.remove("api");
        assert!(secrets.credential("api", "token", "h:1").is_err());
    }

    #[test]
    fn debug_output_shows_no_value() {
        assert!(!format!("{:?}", secrets(None)).contains("canary"));
    }
}
