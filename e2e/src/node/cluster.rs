//! The cluster of the node suite: a node of our own, or an existing cluster.
//!
//! An existing cluster is used only if its context is named explicitly. The current context of a kubeconfig may be a
//! production cluster and is never used.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::{Node, names};
use crate::binaries;
use crate::cluster::control_plane::AuditRecord;
use crate::cluster::kubectl::Kubectl;
use crate::manifests;
use crate::process::run_folder;
use crate::progress;

/// Names the context of an existing cluster. It must already have the images of the manifests.
const CONTEXT: &str = "E2E_CONTEXT";

/// For an existing cluster: an address of this machine that its Pods can reach, such as the gateway of kind's network.
const OUTSIDE: &str = "E2E_OUTSIDE_ADDRESS";

/// A cluster that runs Pods.
#[derive(Debug)]
pub enum Cluster {
    /// A node made for this run.
    Own(Box<Node>),
    /// An existing cluster, named explicitly.
    Existing {
        /// kubectl with the named context and no other.
        kubectl: Kubectl,
        /// Listen address of external systems for its Pods.
        outside: Ipv4Addr,
    },
}

impl Cluster {
    /// Returns the cluster that all tests of this process share. Finds or starts it at the first call.
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<Result<Cluster, String>> = OnceCell::const_new();
        let shared = SHARED.get_or_init(async || Self::find().await.map_err(|error| format!("{error:#}"))).await;
        shared.as_ref().map_err(|error| anyhow::anyhow!("there is no cluster with a node: {error}"))
    }

    async fn find() -> Result<Self> {
        match named(std::env::var(CONTEXT).ok())? {
            None => Ok(Self::Own(Box::new(Node::start().await?))),
            Some(context) => {
                progress::say(format!("using the cluster of the context {context}"));
                let address = std::env::var(OUTSIDE).with_context(|| {
                    format!("{CONTEXT} also needs {OUTSIDE}: an address of this machine that the cluster's Pods reach")
                })?;
                let outside = address.parse().with_context(|| format!("{OUTSIDE}={address}"))?;
                let program = binaries::locate().await?.kubectl;
                let kubeconfig = only(&program, &context)?;
                Ok(Self::Existing { kubectl: Kubectl::new(program, kubeconfig, run_folder::path()?), outside })
            }
        }
    }

    /// Returns kubectl as the cluster's administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        match self {
            Self::Own(node) => node.control_plane.kubectl(),
            Self::Existing { kubectl, .. } => kubectl.clone(),
        }
    }

    /// Returns the address on which an external system is reachable from Pods.
    #[must_use]
    pub fn outside(&self) -> Ipv4Addr {
        match self {
            Self::Own(node) => node.namespaces.network().host,
            Self::Existing { outside, .. } => *outside,
        }
    }

    /// Returns true if the suite may read the node's processes and audit log.
    #[must_use]
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    /// Returns the required address of the external system's Service, or `None` if the cluster chooses it.
    pub(super) fn service_address(&self) -> Option<&'static str> {
        self.is_own().then_some(names::TOXIPROXY)
    }

    /// Returns the accepted writes of the two programs to objects of the demonstration kind, or `None` for an existing
    /// cluster, whose audit log is not accessible.
    pub fn writes_by_programs(&self) -> Result<Option<Vec<AuditRecord>>> {
        let Self::Own(node) = self else { return Ok(None) };
        let account = format!("system:serviceaccount:{}:", manifests::NAMESPACE);
        let records = node.control_plane.audit(manifests::GROUP)?.into_iter();
        let ours = |record: &AuditRecord| record.user.starts_with(&account) && record.group == manifests::GROUP;
        Ok(Some(records.filter(ours).filter(AuditRecord::accepted).collect()))
    }
}

/// Returns the context from the variable, or `None` if it is unset.
fn named(variable: Option<String>) -> Result<Option<String>> {
    match variable.as_deref().map(str::trim) {
        None => Ok(None),
        Some("") => bail!("{CONTEXT} is set and names no context; the current context is never used"),
        Some(context) => Ok(Some(context.to_owned())),
    }
}

/// Writes a kubeconfig that contains only this context of the user's kubeconfig.
fn only(kubectl: &std::path::Path, context: &str) -> Result<PathBuf> {
    let mut command = Command::new(kubectl);
    command.args(["config", "view", "--minify", "--flatten", "--raw", "--output", "json", "--context", context]);
    let output = command.stdin(Stdio::null()).output().context("starting kubectl")?;
    let complaints = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the kubeconfig has no usable context {context}: {complaints}");
    let document: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(document["current-context"] == context, "the kubeconfig has no context {context}");
    let path = run_folder::path()?.join("existing.kubeconfig");
    std::fs::write(&path, document.to_string())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_cluster_is_used_only_when_it_is_named() {
        assert_eq!(named(None).unwrap(), None);
        assert!(named(Some(String::new())).is_err());
        assert!(named(Some("  ".to_owned())).is_err());
        assert_eq!(named(Some("kind-drift".to_owned())).unwrap().as_deref(), Some("kind-drift"));
    }
}
