//! The kubelet and kube-proxy inside the node, each with its usual identity in a cluster.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::namespaces::Namespaces;
use super::{NAME, containerd};
use crate::binaries::{self, Tool};
use crate::cluster::control_plane::ControlPlane;
use crate::process::Process;

/// Starts the kubelet without waiting until it is ready.
pub(super) async fn start(namespaces: &Namespaces, plane: &ControlPlane) -> Result<Process> {
    let config = plane.folder().join("kubelet.json");
    std::fs::write(&config, configuration(namespaces, plane).to_string())?;
    let arguments = [
        format!("--kubeconfig={}", kubeconfig(plane, "system:node:drift")?.display()),
        format!("--config={}", config.display()),
        format!("--root-dir={}", namespaces.folder().join("kubelet").display()),
        format!("--hostname-override={NAME}"),
        format!("--node-ip={}", namespaces.network().node),
    ];
    namespaces.start_inside("kubelet", &binaries::locate_one(Tool::Kubelet).await?, &arguments)
}

/// Starts kube-proxy without waiting until it is ready.
pub(super) async fn start_proxy(namespaces: &Namespaces, plane: &ControlPlane) -> Result<Process> {
    let arguments = [
        format!("--kubeconfig={}", kubeconfig(plane, "system:kube-proxy")?.display()),
        format!("--hostname-override={NAME}"),
        format!("--cluster-cidr={}", containerd::PODS),
        "--proxy-mode=iptables".to_owned(),
        // The connection limit belongs to the machine, and 0 leaves it unchanged.
        "--conntrack-max-per-core=0".to_owned(),
    ];
    namespaces.start_inside("kube-proxy", &binaries::locate_one(Tool::KubeProxy).await?, &arguments)
}

fn kubeconfig(plane: &ControlPlane, user: &str) -> Result<PathBuf> {
    let path = plane.folder().join(format!("{}.kubeconfig", user.replace(':', "-")));
    plane.component(user).write(&path)?;
    Ok(path)
}

fn configuration(namespaces: &Namespaces, plane: &ControlPlane) -> serde_json::Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": namespaces.network().node,
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": plane.authority_file()},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [namespaces.network().node],
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": format!("unix://{}", containerd::socket(namespaces).display()),
        // The node has no systemd and uses the machine's version of cgroups.
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": false,
        "failSwapOn": false,
        "enforceNodeAllocatable": [],
        // A garbage-collected image could not be pulled again here.
        "imageGCHighThresholdPercent": 100,
        // The node shares the machine's disk, which an eviction could not free: 0% disables it.
        "evictionHard": {
            "memory.available": "50Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
            "imagefs.available": "0%", "imagefs.inodesFree": "0%",
        },
    })
}
