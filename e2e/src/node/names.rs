//! Names of Services inside the node, by dnsmasq: what a cluster's DNS answers about the few Services there are.

use anyhow::Result;

use super::{namespaces::Namespaces, packages};
use crate::process::Process;

/// The address of the Service that the shipped target names; from the upper half of the range, which the API server
/// leaves for addresses that are asked for.
pub(super) const TOXIPROXY: &str = "10.0.0.200";

/// Starts it on the node's address.
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
        // What it does not know in here does not exist; nothing is asked further on.
        "--local=/local/",
        &format!("--host-record=toxiproxy.drift-demo.svc.cluster.local,{TOXIPROXY}"),
        "--host-record=kubernetes.default.svc.cluster.local,10.0.0.1",
    ];
    namespaces.start_inside("dnsmasq", &packages::find("dnsmasq")?, &arguments.map(str::to_owned))
}
