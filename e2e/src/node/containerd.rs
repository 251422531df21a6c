//! containerd with runc and a bridge, inside the node.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::images::PAUSE;
use super::namespaces::Namespaces;
use super::packages::{self, NETWORK_PLUGINS};
use crate::process::Process;
use crate::wait::{self, Seen};

/// Address range of Pods.
pub(super) const PODS: &str = "10.88.0.0/24";

/// Returns the path of containerd's socket.
pub(super) fn socket(namespaces: &Namespaces) -> PathBuf {
    namespaces.folder().join("containerd.sock")
}

/// Starts containerd and waits until it answers.
pub(super) async fn start(namespaces: &Namespaces) -> Result<Process> {
    let folder = namespaces.folder();
    let (config, network) = (folder.join("containerd.toml"), folder.join("cni"));
    std::fs::create_dir_all(&network)?;
    std::fs::write(network.join("10-bridge.conflist"), bridge(folder))?;
    std::fs::write(&config, configuration(folder, &socket(namespaces)))?;
    let arguments = ["--config".to_owned(), config.display().to_string()];
    let mut process = namespaces.start_inside("containerd", &packages::find("containerd")?, &arguments)?;
    wait::until("containerd to answer", wait::DEADLINE, async || {
        if let Some(obituary) = process.obituary()? {
            return Ok(Seen::Hopeless(obituary));
        }
        ctr(namespaces, &["version"]).map(Seen::Met)
    })
    .await?;
    Ok(process)
}

/// Imports an image of a `docker-archive` file for the kubelet.
pub(super) fn import(namespaces: &Namespaces, archive: &Path) -> Result<()> {
    ctr(namespaces, &["-n", "k8s.io", "images", "import", &archive.display().to_string()]).map(drop)
}

fn ctr(namespaces: &Namespaces, arguments: &[&str]) -> Result<String> {
    let socket = socket(namespaces).display().to_string();
    namespaces.run_inside("ctr", &[&["-a", socket.as_str()], arguments].concat())
}

fn configuration(folder: &Path, socket: &Path) -> String {
    let (folder, socket) = (folder.display(), socket.display());
    format!(
        r#"version = 2
root = "{folder}/containerd"
state = "{folder}/state"
[grpc]
address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
# In a machine that is itself a container, a score may not be lowered.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{NETWORK_PLUGINS}"
conf_dir = "{folder}/cni"
"#
    )
}

fn bridge(folder: &Path) -> String {
    let leases = folder.join("addresses");
    serde_json::json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
                "ipam": {
                    "type": "host-local", "dataDir": leases,
                    "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    })
    .to_string()
}
