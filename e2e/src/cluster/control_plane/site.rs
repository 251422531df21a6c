//! Where a control plane listens, and what that changes: on loopback nobody joins it; where nodes join, the parts of
//! a cluster get identities of their own and the API server may call the kubelet.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Result;

use super::certificates;
use crate::process::ports;

/// Where Kubernetes API servers listen as a rule; a node's network has nobody else on it.
const NODE_PORT: u16 = 6443;

/// The parts of a cluster and, after a comma, their groups; the API server brings roles for all of them.
const COMPONENTS: [(&str, &str); 4] = [
    ("system:node:drift", ",system:nodes"),
    ("system:kube-controller-manager", ""),
    ("system:kube-scheduler", ""),
    ("system:kube-proxy", ""),
];

/// Where an API server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// On loopback: nothing but programs of this machine talks with it.
    Loopback,
    /// On this address, which a node reaches.
    ForNodes(Ipv4Addr),
}

impl Site {
    /// The address.
    #[must_use]
    pub fn address(self) -> Ipv4Addr {
        match self {
            Self::Loopback => Ipv4Addr::LOCALHOST,
            Self::ForNodes(address) => address,
        }
    }

    pub(super) fn port(self) -> Result<u16> {
        match self {
            Self::Loopback => ports::free_port(),
            Self::ForNodes(_) => Ok(NODE_PORT),
        }
    }

    /// The names that the API server's certificate is for.
    pub(super) fn hosts(self) -> Vec<String> {
        let names = match self {
            Self::Loopback => vec!["localhost".to_owned()],
            // The first address of the range of Services is the API server's own.
            Self::ForNodes(_) => vec!["10.0.0.1".to_owned(), "kubernetes.default.svc".to_owned()],
        };
        [vec![self.address().to_string()], names].concat()
    }
}

/// A part's token. It guards a server that lives for minutes.
pub(super) fn token(user: &str) -> String {
    format!("{}-of-a-throwaway-cluster", user.replace(':', "-"))
}

/// The lines of the token file besides the administrator's.
pub(super) fn tokens(site: Site) -> String {
    match site {
        Site::Loopback => String::new(),
        Site::ForNodes(_) => {
            let line = |(user, group): &(&str, &str)| format!("{},{user},{user}{group}\n", token(user));
            COMPONENTS.iter().map(line).collect()
        }
    }
}

/// What the site adds to the API server's command line.
pub(super) fn arguments(site: Site, folder: &Path) -> Vec<String> {
    let file = |name: &str| folder.join(name).display().to_string();
    match site {
        Site::Loopback => {
            let fixed =
                ["--authorization-mode=RBAC", "--endpoint-reconciler-type=none", "--enable-garbage-collector=false"];
            fixed.map(str::to_owned).to_vec()
        }
        Site::ForNodes(_) => vec![
            "--authorization-mode=Node,RBAC".to_owned(),
            "--enable-admission-plugins=NodeRestriction".to_owned(),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
            format!("--kubelet-client-certificate={}", file(certificates::KUBELET_CLIENT_CERTIFICATE)),
            format!("--kubelet-client-key={}", file(certificates::KUBELET_CLIENT_KEY)),
        ],
    }
}
