//! Finds or builds the programs of the control plane and the external system.
//!
//! Search order: `KUBEBUILDER_ASSETS` (the folder that envtest users already have), the cached build in the user's
//! cache folder, then a build with Go from the modules that `control-plane/go.mod` pins. No container engine and no
//! download of binaries is involved.

mod build;
pub(crate) mod cache;
mod kubernetes;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

pub(crate) use cache::user_cache;
pub use kubernetes::Kubernetes;

/// A program that the tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The store of the API server.
    Etcd,
    /// The external system: a real REST service of proxies that also injects faults.
    Toxiproxy,
    /// The Kubernetes API server.
    ApiServer,
    /// The Kubernetes command line.
    Kubectl,
    /// Creates the Pods of Deployments and Jobs, and publishes the authority for tokens. For the node and the cookbook.
    ControllerManager,
    /// Assigns Pods to nodes. Used only by the node.
    Scheduler,
    /// Runs the Pods. Used only by the node.
    Kubelet,
    /// Makes Services reachable. Used only by the node.
    KubeProxy,
    /// Renders and installs the chart.
    Helm,
}

impl Tool {
    /// Programs that every test and the demo need, the quick builds first.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::Toxiproxy, Self::ApiServer, Self::Kubectl];

    /// Additional programs of a node, built on request of the node suite.
    pub const OF_A_NODE: [Self; 4] = [Self::Scheduler, Self::KubeProxy, Self::ControllerManager, Self::Kubelet];

    /// Returns its position in its group of builds, from 1, and the size of the group.
    fn place(self) -> (usize, usize) {
        let groups: [&[Self]; 3] = [&Self::ALL, &Self::OF_A_NODE, &[Self::Helm]];
        let among = groups.into_iter().find(|group| group.contains(&self)).unwrap_or_default();
        (among.iter().position(|each| *each == self).map_or(0, |index| index + 1), among.len())
    }

    /// Returns the file name, also in `KUBEBUILDER_ASSETS`. Two of the Go packages would both be called `server`.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Toxiproxy => "toxiproxy-server",
            Self::ApiServer => "kube-apiserver",
            Self::Kubectl => "kubectl",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Helm => "helm",
        }
    }

    /// Returns the folder with the go.mod and go.sum that pin it. Helm has a module of its own, so that a new version of
    /// Helm does not rebuild the control plane.
    fn module(self, kubernetes: Kubernetes) -> &'static str {
        match self {
            Self::Helm => "helm",
            _ => kubernetes.of_tool(self).module(),
        }
    }

    /// Returns the Go package, a `tool` line of the module's go.mod.
    fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Toxiproxy => "github.com/Shopify/toxiproxy/v2/cmd/server",
            Self::ApiServer => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::ControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Scheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::Kubelet => "k8s.io/kubernetes/cmd/kubelet",
            Self::KubeProxy => "k8s.io/kubernetes/cmd/kube-proxy",
            Self::Helm => "helm.sh/helm/v4/cmd/helm",
        }
    }
}

/// Paths of the programs that every test needs.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// Path of etcd.
    pub etcd: PathBuf,
    /// Path of toxiproxy's server.
    pub toxiproxy: PathBuf,
    /// Path of kube-apiserver.
    pub api_server: PathBuf,
    /// Path of kubectl.
    pub kubectl: PathBuf,
}

/// Finds the programs and builds missing ones. Only the first call of a process does the work. If a program is missing
/// and cannot be built, the error says what to install.
pub async fn locate() -> Result<Binaries> {
    tokio::task::spawn_blocking(locate_blocking).await?
}

/// Finds or builds one program, such as one of [`Tool::OF_A_NODE`].
pub async fn locate_one(tool: Tool) -> Result<PathBuf> {
    tokio::task::spawn_blocking(move || cache::get_or_build(tool, Kubernetes::Usual)).await?
}

fn locate_blocking() -> Result<Binaries> {
    static FOUND: Mutex<Option<Binaries>> = Mutex::new(None);
    // Held during the whole build, so that the other tests of this process wait for the first one.
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(binaries) = &*found {
        return Ok(binaries.clone());
    }
    let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let binaries = locate_with(assets.as_deref())?;
    *found = Some(binaries.clone());
    Ok(binaries)
}

fn locate_with(assets: Option<&Path>) -> Result<Binaries> {
    let kubernetes = Kubernetes::chosen()?;
    let find = |tool: Tool| {
        let version = kubernetes.of_tool(tool);
        // The assets are of an unknown version, so a chosen one is built.
        let assets = assets.filter(|_| version == Kubernetes::Usual);
        let given = assets.map(|folder| folder.join(tool.file_name())).filter(|file| file.is_file());
        given.map_or_else(|| cache::get_or_build(tool, kubernetes), Ok)
    };
    if cfg!(feature = "long") {
        // The pages of the cookbook need it. Built before any test begins, because a build takes both cores and the
        // deadlines of tests would expire.
        find(Tool::ControllerManager)?;
    }
    Ok(Binaries {
        etcd: find(Tool::Etcd)?,
        toxiproxy: find(Tool::Toxiproxy)?,
        api_server: find(Tool::ApiServer)?,
        kubectl: find(Tool::Kubectl)?,
    })
}
