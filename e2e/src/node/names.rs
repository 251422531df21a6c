//! DNS of the node's few Services, by dnsmasq.

use anyhow::Result;

use super::{namespaces::Namespaces, packages};
use crate::process::Process;

/// The address of the shipped target's Service. It is from the upper half of the range, which the API server reserves
/// for requested addresses.
pub(super) const TOXIPROXY: &str = "10.0.0.200";

/// Starts dnsmasq on the node's address.
pub(super) fn start(namespaces: &Namespaces) -> Result<Process> {
    let arguments = [
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--user=root",
        "--pid-file=",
        "--log-facility=-",
        "--bind-interfaces",
        &format!("--listen-address={}", namespaces.network().node),
        // Unknown local names do not exist, and dnsmasq asks no upstream server.
        "--local=/local/",
        &format!("--host-record=toxiproxy.drift-demo.svc.cluster.local,{TOXIPROXY}"),
        "--host-record=kubernetes.default.svc.cluster.local,10.0.0.1",
    ];
    namespaces.start_inside("dnsmasq", &packages::find("dnsmasq")?, &arguments.map(str::to_owned))
}
