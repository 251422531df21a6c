//! The listen address of a control plane. With nodes, the components of a cluster get identities and the API server may
//! call the kubelet.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Result;

use super::certificates;
use crate::process::ports;

/// The usual port of Kubernetes API servers. No other server uses the node's network.
const NODE_PORT: u16 = 6443;

/// The components of a cluster and, after a comma, their groups. The API server has built-in roles for all of them.
const COMPONENTS: [(&str, &str); 4] = [
    ("system:node:drift", ",system:nodes"),
    ("system:kube-controller-manager", ""),
    ("system:kube-scheduler", ""),
    ("system:kube-proxy", ""),
];

/// Listen address of an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Loopback: only programs of this machine connect to it.
    Loopback,
    /// An address that a node reaches.
    ForNodes(Ipv4Addr),
}

impl Site {
    /// Returns the listen address.
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

    /// Returns the names in the API server's certificate.
    pub(super) fn hosts(self) -> Vec<String> {
        let names = match self {
            Self::Loopback => vec!["localhost".to_owned()],
            // The first address of the Service range belongs to the API server.
            Self::ForNodes(_) => vec!["10.0.0.1".to_owned(), "kubernetes.default.svc".to_owned()],
        };
        [vec![self.address().to_string()], names].concat()
    }
}

/// Returns a component's token. It guards a server that lives for minutes.
pub(super) fn token(user: &str) -> String {
    format!("{}-of-a-throwaway-cluster", user.replace(':', "-"))
}

/// Returns the lines of the token file, except the administrator's.
pub(super) fn tokens(site: Site) -> String {
    match site {
        Site::Loopback => String::new(),
        Site::ForNodes(_) => {
            let line = |(user, group): &(&str, &str)| format!("{},{user},{user}{group}\n", token(user));
            COMPONENTS.iter().map(line).collect()
        }
    }
}

/// Returns the site-specific arguments of the API server.
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
