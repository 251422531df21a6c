//! `allowHosts` and `allowNetworks`: the allowed destinations of a target's requests.

use std::sync::Arc;

use crate::network::Network;
use crate::network::host_patterns::{HostPattern, HostPatterns};
use crate::yaml::{Node, Reader};

/// Maximum entries of either list.
const MAX_ENTRIES: usize = 100;

pub(crate) fn read_allow_hosts(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Arc<HostPatterns>> {
    let patterns = reader.list(node, place, 1..=MAX_ENTRIES, read_host)?;
    Some(Arc::new(HostPatterns::new(patterns)))
}

fn read_host(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HostPattern> {
    let text = reader.literal(node, place)?;
    HostPattern::parse(text).or_else(|| {
        let message = format!(
            "{place}: `{text}` is no host; write api.example, api.example:8443, *.example (one label), or * for any"
        );
        reader.refuse(node.at, message)
    })
}

pub(crate) fn read_allow_networks(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<Network>> {
    reader.list(node, place, 1..=MAX_ENTRIES, read_network)
}

fn read_network(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Network> {
    let text = reader.literal(node, place)?;
    text.parse().or_else(|error| reader.refuse(node.at, format!("{place}: `{text}`: {error}")).ok_or(())).ok()
}
