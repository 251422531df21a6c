//! `allowHosts` and `allowNetworks`: the allowed destinations of a target's requests.

use std::sync::Arc;

use crate::network::Network;
use crate::network::host_patterns::{HostPattern, HostPatterns};
use crate::section::{Leaf, list, literal};

/// Maximum entries of either list.
const MAX_ENTRIES: usize = 100;

/// The hosts of `allowHosts`.
pub(crate) fn allow_hosts() -> impl Leaf<Value = Arc<HostPatterns>> {
    list(1..=MAX_ENTRIES, literal(parse_host)).map(|patterns| Arc::new(HostPatterns::new(patterns)))
}

fn parse_host(text: &str) -> Result<HostPattern, String> {
    HostPattern::parse(text).ok_or_else(|| {
        format!("`{text}` is no host; write api.example, api.example:8443, *.example (one label), or * for any")
    })
}

/// The networks of `allowNetworks`.
pub(crate) fn allow_networks() -> impl Leaf<Value = Vec<Network>> {
    list(1..=MAX_ENTRIES, literal(|text| text.parse().map_err(|error| format!("`{text}`: {error}"))))
}
