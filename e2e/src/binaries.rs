//! The control plane's programs and the external system's: where to find them, or how to make them.
//!
//! Looked for in this order: `KUBEBUILDER_ASSETS` (the folder that envtest users already have) → the cached build
//! in the user's cache folder → a build with Go from the modules that `control-plane/go.mod` pins. There is no
//! container engine and no download of binaries in this.

mod build;
pub(crate) mod cache;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

pub(crate) use cache::user_cache;

/// One program that the bed runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The API server's store.
    Etcd,
    /// The external system: a real REST service of proxies, and the fault injector.
    Toxiproxy,
    /// The Kubernetes API.
    ApiServer,
    /// The command line that people use.
    Kubectl,
    /// What makes Pods of Deployments and Jobs, and tokens' authorities known; for the node, and for the cookbook's pages.
    ControllerManager,
    /// What gives Pods their node; for the node only.
    Scheduler,
    /// What runs Pods; for the node only.
    Kubelet,
    /// What makes Services reachable; for the node only.
    KubeProxy,
}

impl Tool {
    /// What every test and the demo need, the quick builds first.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::Toxiproxy, Self::ApiServer, Self::Kubectl];

    /// What a node needs besides; built when the node suite asks for it.
    pub const OF_A_NODE: [Self; 4] = [Self::Scheduler, Self::KubeProxy, Self::ControllerManager, Self::Kubelet];

    /// Its place among those that are built with it, from 1, and how many they are.
    fn place(self) -> (usize, usize) {
        let among = if Self::ALL.contains(&self) { Self::ALL } else { Self::OF_A_NODE };
        (among.iter().position(|each| *each == self).map_or(0, |index| index + 1), among.len())
    }

    /// The file's name, also in `KUBEBUILDER_ASSETS`. Two of the Go packages would both be called `server`.
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
        }
    }

    /// The Go package, a `tool` line of `control-plane/go.mod`.
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
        }
    }
}

/// Where the programs are.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// etcd.
    pub etcd: PathBuf,
    /// toxiproxy's server.
    pub toxiproxy: PathBuf,
    /// kube-apiserver.
    pub api_server: PathBuf,
    /// kubectl.
    pub kubectl: PathBuf,
}

/// Finds the programs, building what is missing; the first call of a process does the work.
///
/// # Errors
/// When something is missing and cannot be built, with one sentence that says what to install.
pub async fn locate() -> Result<Binaries> {
    tokio::task::spawn_blocking(locate_blocking).await?
}

/// One of [`Tool::OF_A_NODE`], built if nobody has before.
///
/// # Errors
/// As [`locate`].
pub async fn locate_for_node(tool: Tool) -> Result<PathBuf> {
    tokio::task::spawn_blocking(move || cache::Cache::open()?.get_or_build(tool)).await?
}

fn locate_blocking() -> Result<Binaries> {
    static FOUND: Mutex<Option<Binaries>> = Mutex::new(None);
    // Held during the whole build: the other tests of this process wait here for the first one.
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
    let cache = cache::Cache::open()?;
    let find = |tool: Tool| {
        let given = assets.map(|folder| folder.join(tool.file_name())).filter(|file| file.is_file());
        given.map_or_else(|| cache.get_or_build(tool), Ok)
    };
    if cfg!(feature = "servers") {
        // Built before any test begins: a build takes both cores, and deadlines run in tests.
        find(Tool::ControllerManager)?;
    }
    Ok(Binaries {
        etcd: find(Tool::Etcd)?,
        toxiproxy: find(Tool::Toxiproxy)?,
        api_server: find(Tool::ApiServer)?,
        kubectl: find(Tool::Kubectl)?,
    })
}
