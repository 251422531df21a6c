//! Rejects Pods that no Job may run, independently of the namespace's policy: Pods that share something with their node
//! or hold a token, and Pods that a Job cannot run.
//!
//! The namespace enforces its own Pod Security Standard.

use super::kubernetes_nodes::{entries, items};
use crate::yaml::{Content, Entry, Node, Reader};

/// The kinds of volumes that share nothing with the node.
const VOLUMES: &[&str] = &[
    "name",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
/// Allowed keys of a Pod's security context.
const POD_CONTEXT: &[&str] = &[
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seccompProfile",
    "supplementalGroups",
];
/// Allowed keys of a container's security context. A privileged container would control its node.
const CONTAINER_CONTEXT: &[&str] = &[
    "allowPrivilegeEscalation",
    "capabilities",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seccompProfile",
];
const NO_TOKEN: &str = "no token is mounted into a Job of ours";

/// Rejects a forbidden Pod, with each of its mistakes.
pub(super) fn check_isolation(reader: &mut Reader<'_>, pod: &Node, place: &str) -> Option<()> {
    let mut is_good = true;
    let mut refuse = |reader: &mut Reader<'_>, node: &Node, message: String| {
        is_good = false;
        reader.refuse::<()>(node.at, message);
    };
    if let Some(token) = pod.get("automountServiceAccountToken").filter(|token| token.to_json() != false) {
        refuse(reader, token, format!("{place}.automountServiceAccountToken: {NO_TOKEN}"));
    }
    let restarts = pod.get("restartPolicy").filter(|node| !matches!(node.as_text(), Some("Never" | "OnFailure")));
    if let Some(policy) = restarts {
        refuse(reader, policy, format!("{place}.restartPolicy: Never (default) or OnFailure is needed"));
    }
    if pod.get("containers").and_then(Node::first_item).is_none() {
        refuse(reader, pod, format!("{place}.containers: at least one is needed"));
    }
    is_good &= check_context(reader, pod, place, POD_CONTEXT).is_some();
    for key in ["initContainers", "containers"] {
        let Some(Content::List(containers)) = pod.get(key).map(|node| &node.content) else { continue };
        for (position, container) in containers.iter().enumerate() {
            let place = format!("{place}.{key}[{position}]");
            is_good &= check_context(reader, container, &place, CONTAINER_CONTEXT).is_some();
        }
    }
    let Some(volumes) = pod.get("volumes") else { return is_good.then_some(()) };
    let place = format!("{place}.volumes");
    let volumes = items(reader, volumes, &place)?;
    reader.each(volumes, &place, check_volume).filter(|_| is_good).map(drop)
}

fn check_context(reader: &mut Reader<'_>, node: &Node, place: &str, known: &[&str]) -> Option<()> {
    let Some(context) = node.get("securityContext") else { return Some(()) };
    entries(reader, context, &format!("{place}.securityContext"), known).map(drop)
}

fn check_volume(reader: &mut Reader<'_>, volume: &Node, place: &str) -> Option<()> {
    let fields = entries(reader, volume, place, VOLUMES)?;
    match fields.iter().find_map(token_in) {
        Some(token) => reader.refuse(token.at, format!("{place}: {NO_TOKEN}")),
        None => Some(()),
    }
}

/// Returns the token source of a projected volume.
fn token_in(field: &Entry) -> Option<&Node> {
    let Content::List(sources) = &field.value.get("sources")?.content else { return None };
    sources.iter().find_map(|source| source.get("serviceAccountToken"))
}
