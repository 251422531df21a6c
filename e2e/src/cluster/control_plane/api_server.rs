//! The command line of kube-apiserver. RBAC, admission, PodSecurity, and priority and fairness are as in any cluster.
//! On loopback, features that a lone server does not need are switched off.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Site, audit, certificates, site};
use crate::process::{Launch, Process};

/// Parameters of a start, kept for a restart on the same data.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) etcd_url: String,
    pub(super) site: Site,
    pub(super) port: u16,
    pub(super) folder: PathBuf,
}

impl Settings {
    /// Starts the API server without waiting until it is ready.
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
