//! A real node: kubelet, containerd, runc, a bridge, kube-proxy and a DNS server beside the control plane. The two
//! programs run as users deploy them: as Pods from the images of the two Dockerfiles.
//!
//! It tests what processes on loopback cannot show: that the images start, that the manifests' limits, probes and grace
//! periods fit, and the cost of a rollout or a killed Pod. The node lives in kernel namespaces of one process and ends
//! with it.

mod cgroup;
mod cluster;
mod containerd;
mod images;
mod installation;
mod kubelet;
mod loops;
mod names;
mod namespaces;
mod packages;
mod pods;
mod proxies;

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

pub use cgroup::Usage;
pub use cluster::Cluster;
pub use images::{Again, BuiltTwice, JOB_TOOL, build_again};
pub use installation::{BOTH, Installation, PORT};
pub use pods::Pod;

use crate::binaries::cache;
use crate::cluster::control_plane::{ControlPlane, Site};
use crate::process::Process;
use crate::process::run_folder;
use crate::progress;
use crate::wait::{self, Seen};
use namespaces::Namespaces;

/// Name of the node.
const NAME: &str = "drift";

/// The node's deadline to become Ready. It needs 6 s alone, and many times that on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// A running node with its control plane. Its processes end with this one.
#[derive(Debug)]
pub struct Node {
    control_plane: ControlPlane,
    namespaces: Namespaces,
    /// Held for the lifetime of the node.
    _processes: Vec<Process>,
    /// Lock that permits one node at a time.
    _turn: File,
}

impl Node {
    /// Starts a node with the product's images and waits until it is Ready.
    ///
    /// # Errors
    /// If this machine cannot run a node, the error lists what is missing.
    async fn start() -> Result<Self> {
        packages::ensure_all(images::docker_answers())?;
        let turn = tokio::task::spawn_blocking(take_turn).await??;
        cgroup::ensure_free().await?;
        let images = images::built().await?;
        let began = Instant::now();
        let folder = run_folder::path()?.join("node");
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let namespaces = Namespaces::start(&folder)?;
        let control_plane = ControlPlane::start_at(&folder, Site::ForNodes(namespaces.network().host)).await?;
        progress::say("starting controller manager, scheduler, containerd, kubelet and kube-proxy");
        let mut processes = loops::start(&control_plane).await?;
        processes.push(containerd::start(&namespaces).await?);
        for archive in &images {
            containerd::import(&namespaces, archive)?;
        }
        processes.push(names::start(&namespaces)?);
        processes.push(kubelet::start(&namespaces, &control_plane).await?);
        processes.push(kubelet::start_proxy(&namespaces, &control_plane).await?);
        let node = Self { control_plane, namespaces, _processes: processes, _turn: turn };
        node.wait_until_ready().await?;
        progress::say(format!("the node is Ready {:.1} s after its first process", began.elapsed().as_secs_f64()));
        Ok(node)
    }

    /// Returns the folder with its logs and keys.
    fn folder(&self) -> PathBuf {
        self.control_plane.folder().to_path_buf()
    }

    async fn wait_until_ready(&self) -> Result<()> {
        let kubectl = self.control_plane.kubectl();
        let what = format!("the node to be Ready (logs in {})", self.folder().display());
        wait::until(what, READY_WITHIN, async || {
            let printed = kubectl.run(&["get", "node", NAME, "-o", "json"]).await?;
            let node: Value = serde_json::from_str(&printed.output)?;
            let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|entry| entry["type"] == "Ready");
            let is_ready = ready.is_some_and(|entry| entry["status"] == "True");
            Ok(if is_ready { Seen::Met(()) } else { Seen::Instead(format!("{ready:?}")) })
        })
        .await
    }
}

/// Waits until no other process of this user runs a node.
fn take_turn() -> Result<File> {
    let folder = cache::folder()?.join("node/turn");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    cache::lock(&folder, "waiting for another node on this machine")
}
