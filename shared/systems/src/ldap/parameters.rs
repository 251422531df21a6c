//! The connection parameters in a Secret: address, account, and protection. No value is ever shown.

use std::fmt;

use secrecy::SecretString;
use url::Url;

use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};

use crate::guard::stream::host_and_port;

/// The protection of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Neither encryption nor authentication of the server.
    None,
    /// TLS from the first byte, `ldaps`.
    Tls,
    /// TLS after the StartTLS operation (RFC 4511, section 4.14).
    StartTls,
}

/// The parameters of a connection.
#[derive(Clone)]
pub struct DirectoryParameters {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) protection: Protection,
    pub(super) bind_dn: String,
    pub(super) password: SecretString,
    /// CA certificates in PEM, instead of the system's.
    pub(super) ca: Option<SecretString>,
}

impl DirectoryParameters {
    /// Reads the parameters from the Secret of this name. `insecure` permits an unencrypted connection.
    ///
    /// # Errors
    /// Fails if the Secret is missing, incomplete, or may not be sent to the host that it names.
    pub fn of(secret: &str, secrets: &LabelledSecrets, insecure: bool) -> Result<Self, CredentialError> {
        let text = |key: &str| secrets.line(secret, key);
        let needed = |key: &str| text(key)?.ok_or_else(|| CredentialError::no_key(secret, key));
        let unusable = |key: &str, problem| CredentialError::unusable(secret, key, problem);
        let url = needed("url")?;
        let (host, port, is_tls) = of_url(&url).map_err(|problem| unusable("url", problem))?;
        let protection = match (is_tls, text("startTls")?.as_deref()) {
            (true, None | Some("false")) => Protection::Tls,
            (false, Some("true")) => Protection::StartTls,
            (false, None | Some("false")) => Protection::None,
            (true, Some("true")) => return Err(unusable("startTls", "for ldaps, which is encrypted already")),
            (_, Some(_)) => return Err(unusable("startTls", "neither true nor false")),
        };
        // A bind with a name and no password succeeds as anonymous (RFC 4513, section 5.1.2).
        let bind_dn = needed("bindDn")?;
        let password = needed("password")?.into();
        let ca = secrets.value(secret, "ca.crt")?.cloned();
        if protection == Protection::None && !insecure && !drift_language::is_unread_host(&host) {
            let problem = "ldap:// for a host that is neither loopback nor a cluster Service: write ldaps://, \
                           startTls: true, or insecure: true in the target";
            return Err(unusable("url", problem));
        }
        let parameters = Self { host, port, protection, bind_dn, password, ca };
        secrets.check_host(secret, &parameters.host_and_port())?;
        Ok(parameters)
    }

    /// Returns the host and port, the key for limits, pauses and the allowed hosts of Secrets.
    #[must_use]
    pub fn host_and_port(&self) -> String {
        host_and_port(&self.host, self.port)
    }
}

/// Parses an LDAP URL of a server. Returns host, port, and true for `ldaps`.
fn of_url(text: &str) -> Result<(String, u16, bool), &'static str> {
    const FORM: &str = "no URL of a server: write ldaps://HOST or ldaps://HOST:PORT";
    let url = Url::parse(text).map_err(|_| FORM)?;
    let (is_tls, default_port) = match url.scheme() {
        "ldaps" => (true, 636),
        "ldap" => (false, 389),
        _ => return Err(FORM),
    };
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !is_plain || url.fragment().is_some() || !["", "/"].contains(&url.path()) {
        return Err("a URL with more than a host and a port: write the rest in the target");
    }
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or(FORM)?;
    Ok((host.trim_matches(['[', ']']).to_lowercase(), url.port().unwrap_or(default_port), is_tls))
}

impl fmt::Debug for DirectoryParameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DirectoryParameters").field("host", &self.host_and_port()).finish_non_exhaustive()
    }
}
