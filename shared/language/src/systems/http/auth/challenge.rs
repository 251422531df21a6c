//! `auth.challenge`: a token from the server that a 401 response names, as OCI registries require it.
//!
//! The response of a host decides where the credential goes. So the target lists the token servers that may be used
//! besides the host itself. This module names the credential and never holds it or a token.

use crate::network::host_patterns::{HostPattern, HostPatterns};
use crate::secrets::secret_key::whole_secret;
use crate::section::{Leaf, Section, list, literal};

/// Maximum token servers of one section.
const MAX_TOKEN_HOSTS: usize = 16;

/// The allowed token servers and the credential for them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Section)]
pub struct Challenge {
    /// A Secret in the programs' namespace, with the keys username and password. Default: anonymous.
    #[key(whole_secret(), name = "secretRef")]
    pub secret: Option<String>,
    /// Other token servers: [auth.example]. 1 to 16.
    #[key(token_hosts(), name = "tokenHosts", default = HostPatterns::new(Vec::new()))]
    hosts: HostPatterns,
}

impl Challenge {
    /// Creates a challenge with these token servers, each `host` or `host:port`. `None` if one is not a host.
    #[must_use]
    pub fn new(secret: Option<&str>, hosts: &[&str]) -> Option<Self> {
        let hosts: Option<Vec<HostPattern>> = hosts.iter().copied().map(token_host).collect();
        Some(Self { secret: secret.map(str::to_owned), hosts: HostPatterns::new(hosts?) })
    }

    /// Returns true if a token server on another host than that of the request is allowed. `host` is in normal form.
    #[must_use]
    pub fn may_ask(&self, host: &str, port: u16) -> bool {
        self.hosts.allow(host, port)
    }
}

fn token_hosts() -> impl Leaf<Value = HostPatterns> {
    list(1..=MAX_TOKEN_HOSTS, literal(parse_token_host)).map(HostPatterns::new)
}

fn parse_token_host(text: &str) -> Result<HostPattern, String> {
    token_host(text).ok_or_else(|| format!("`{text}` is no host; write auth.example or auth.example:8443"))
}

/// Parses a token server. Wildcards are not allowed, because each server receives the credential.
fn token_host(text: &str) -> Option<HostPattern> {
    HostPattern::parse(text).filter(|_| !text.contains('*'))
}
