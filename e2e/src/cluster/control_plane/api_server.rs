//! kube-apiserver's command line. Everything that decides what is allowed (RBAC, admission, PodSecurity, priority
//! and fairness) is as in any cluster; only what a lone loopback server does not need is switched off there.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Site, audit, certificates, site};
use crate::process::{Launch, Process};

/// What a start needs; kept for starting again on the same data.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) etcd_url: String,
    pub(super) site: Site,
    pub(super) port: u16,
    pub(super) folder: PathBuf,
}

impl Settings {
    /// Starts it without waiting for it.
    pub(super) fn start(&self, program: &Path) -> Result<Process> {
        let tokens = self.folder.join("tokens.csv");
        let administrator = format!("{},administrator,administrator,system:masters\n", super::ADMIN_TOKEN);
        std::fs::write(&tokens, administrator + &site::tokens(self.site))?;
        let policy = audit::write_policy(&self.folder)?;
        let file = |name: &str| self.folder.join(name).display().to_string();
        Launch::new("kube-apiserver", program)
            .argument(format!("--etcd-servers={}", self.etcd_url))
            .argument(format!("--secure-port={}", self.port))
            .argument(format!("--bind-address={}", self.site.address()))
            .argument(format!("--advertise-address={}", self.site.address()))
            .argument(format!("--tls-cert-file={}", file(certificates::SERVER_CERTIFICATE)))
            .argument(format!("--tls-private-key-file={}", file(certificates::SERVER_KEY)))
            .argument(format!("--service-account-signing-key-file={}", file(certificates::ACCOUNTS_KEY)))
            .argument(format!("--service-account-key-file={}", file(certificates::ACCOUNTS_PUBLIC_KEY)))
            .argument("--service-account-issuer=https://kubernetes.default.svc")
            .argument(format!("--token-auth-file={}", tokens.display()))
            .argument(format!("--audit-policy-file={}", policy.display()))
            .argument(format!("--audit-log-path={}", self.folder.join(audit::LOG).display()))
            // 0 switches rotation off: the records of one run stay in one file.
            .arguments(["--audit-log-maxsize=0", "--event-ttl=30m"])
            .arguments(["--service-cluster-ip-range=10.0.0.0/24", "--profiling=false"])
            .arguments(site::arguments(self.site, &self.folder))
            .start(&self.folder)
    }
}
