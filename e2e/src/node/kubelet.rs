//! The kubelet and kube-proxy, inside the node, each with the identity that a cluster gives it.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::namespaces::Namespaces;
use super::{NAME, containerd};
use crate::binaries::{self, Tool};
use crate::cluster::control_plane::ControlPlane;
use crate::process::Process;

/// Starts the kubelet without waiting for it.
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
    namespaces.start_inside("kubelet", &binaries::locate_for_node(Tool::Kubelet).await?, &arguments)
}

/// Starts kube-proxy without waiting for it.
pub(super) async fn start_proxy(namespaces: &Namespaces, plane: &ControlPlane) -> Result<Process> {
    let arguments = [
        format!("--kubeconfig={}", kubeconfig(plane, "system:kube-proxy")?.display()),
        format!("--hostname-override={NAME}"),
        format!("--cluster-cidr={}", containerd::PODS),
        "--proxy-mode=iptables".to_owned(),
        // The limit of connections belongs to the machine, and 0 leaves it alone.
        "--conntrack-max-per-core=0".to_owned(),
    ];
    namespaces.start_inside("kube-proxy", &binaries::locate_for_node(Tool::KubeProxy).await?, &arguments)
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
        // No systemd in the node, and whatever version of cgroups the machine has.
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": false,
        "failSwapOn": false,
        "enforceNodeAllocatable": [],
        // An image that is collected here cannot be pulled again.
        "imageGCHighThresholdPercent": 100,
        // The node's file system is the machine's, whose disk is nothing that an eviction here could free: 0% is never.
        "evictionHard": {
            "memory.available": "50Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
            "imagefs.available": "0%", "imagefs.inodesFree": "0%",
        },
    })
}
