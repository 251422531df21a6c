//! `auth.challenge`: a token from the server that a 401 response names, as OCI registries require it.
//!
//! The response of a host decides where the credential goes. So the target lists the token servers that may be used
//! besides the host itself. This module names the credential and never holds it or a token.

use crate::network::host_patterns::{HostPattern, HostPatterns};
use crate::secrets::secret_key::read_whole_secret;
use crate::yaml::{Node, Reader, all};

/// Maximum token servers of one section.
const MAX_TOKEN_HOSTS: usize = 16;

/// The allowed token servers and the credential for them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Challenge {
    /// The Secret with keys `username` and `password`. `None` for anonymous tokens.
    pub secret: Option<String>,
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

pub(crate) fn read_challenge(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Challenge> {
    let fields = reader.fields(node, place, &["secretRef", "tokenHosts"])?;
    let secret = reader.optional(&fields, "secretRef", read_whole_secret);
    let hosts = reader.or(&fields, "tokenHosts", Vec::new(), |reader, node, place| {
        let items = reader.items(node, place, 1..=MAX_TOKEN_HOSTS)?;
        all(items.iter().map(|item| read_token_host(reader, item, place)))
    });
    Some(Challenge { secret: secret?, hosts: HostPatterns::new(hosts?) })
}

fn read_token_host(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HostPattern> {
    let text = reader.literal(node, place)?;
    token_host(text).or_else(|| {
        reader.refuse(node.at, format!("{place}: `{text}` is no host; write auth.example or auth.example:8443"))
    })
}

/// Parses a token server. Wildcards are not allowed, because each server receives the credential.
fn token_host(text: &str) -> Option<HostPattern> {
    HostPattern::parse(text).filter(|_| !text.contains('*'))
}
