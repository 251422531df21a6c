//! `auth.challenge`: a token from the server that a 401 names, as OCI registries want it.
//!
//! The answer of a host chooses where the credential would go, so the target says which token servers may be asked besides
//! that host itself. It names the credential and never holds one, nor a token.

use crate::network::host_patterns::{HostPattern, HostPatterns};
use crate::secrets::secret_key::read_whole_secret;
use crate::yaml::Node;
use crate::yaml::reader::{Reader, all};

/// Token servers of one section.
const MAX_TOKEN_HOSTS: usize = 16;

/// Whose token servers are asked, and by which credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Challenge {
    /// The Secret with keys `username` and `password`; `None` where tokens are given to anybody.
    pub secret: Option<String>,
    hosts: HostPatterns,
}

impl Challenge {
    /// With these token servers, each `host` or `host:port`; `None` where one is no host.
    #[must_use]
    pub fn new(secret: Option<&str>, hosts: &[&str]) -> Option<Self> {
        let hosts: Option<Vec<HostPattern>> = hosts.iter().copied().map(token_host).collect();
        Some(Self { secret: secret.map(str::to_owned), hosts: HostPatterns::new(hosts?) })
    }

    /// Returns true if a token server on another host than the request's may be asked; `host` is in normal form.
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

/// Written out, since each gets the credential.
fn token_host(text: &str) -> Option<HostPattern> {
    HostPattern::parse(text).filter(|_| !text.contains('*'))
}
