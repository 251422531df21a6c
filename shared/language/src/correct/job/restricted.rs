//! The restricted Pod Security Standard, as far as what may be written of a Pod can break it; and no token.
//!
//! Namespaces may enforce it too. It is asked here all the same, so that a target that nobody may run is refused when it is
//! written, and one that asks for more than it needs never runs. This file must not know of templates.

use super::kubernetes::{entries, items};
use crate::yaml::raw::Reader;
use crate::yaml::{Content, Entry, Node};

/// The kinds of volumes that the standard takes.
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
/// What may be written of a Pod's security context.
const POD_CONTEXT: &[&str] = &[
    "fsGroup",
    "fsGroupChangePolicy",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seccompProfile",
    "supplementalGroups",
];
/// What may be written of a container's.
const CONTAINER_CONTEXT: &[&str] = &[
    "allowPrivilegeEscalation",
    "capabilities",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "seccompProfile",
];
/// The one capability that the standard lets a container add.
const MAY_ADD: &str = "NET_BIND_SERVICE";

/// Refuses a Pod that does not meet the standard, with what to write.
pub(super) fn check(reader: &mut Reader<'_>, pod: &Node, place: &str) -> Option<()> {
    let mut is_good = check_words(reader, pod, place);
    let context = Context::of(reader, pod, place, POD_CONTEXT);
    is_good &= context.is_some();
    if let Some(volumes) = pod.get("volumes") {
        is_good &= check_volumes(reader, volumes, &format!("{place}.volumes"));
    }
    if pod.get("containers").and_then(Node::first_item).is_none() {
        reader.refuse::<()>(pod.at, format!("{place}.containers: at least one is needed"));
        is_good = false;
    }
    for key in ["initContainers", "containers"] {
        let Some(Content::List(containers)) = pod.get(key).map(|node| &node.content) else { continue };
        for (position, container) in containers.iter().enumerate() {
            let place = format!("{place}.{key}[{position}]");
            is_good &= context.as_ref().is_some_and(|context| check_container(reader, container, &place, context));
        }
    }
    is_good.then_some(())
}

/// What is said for a Pod or a container of who it runs as.
struct Context<'n> {
    node: Option<&'n Node>,
    non_root: Option<bool>,
    has_profile: bool,
}

impl<'n> Context<'n> {
    /// `None` where something in it is wrong.
    fn of(reader: &mut Reader<'_>, node: &'n Node, place: &str, known: &[&str]) -> Option<Self> {
        let place = format!("{place}.securityContext");
        let Some(written) = node.get("securityContext") else {
            return Some(Self { node: None, non_root: None, has_profile: false });
        };
        entries(reader, written, &place, known)?;
        if let Some(root) = written.get("runAsUser").filter(|user| user.to_json() == 0) {
            return reader.refuse(root.at, format!("{place}.runAsUser: not as root"));
        }
        let profile = written.get("seccompProfile");
        let is_known = |node: &Node| {
            node.get("type").and_then(Node::as_text).is_some_and(|text| ["RuntimeDefault", "Localhost"].contains(&text))
        };
        if let Some(profile) = profile.filter(|profile| !is_known(profile)) {
            let message = format!("{place}.seccompProfile.type: RuntimeDefault or Localhost is needed");
            return reader.refuse(profile.at, message);
        }
        let non_root = written.get("runAsNonRoot").and_then(|node| node.to_json().as_bool());
        Some(Self { node: Some(written), non_root, has_profile: profile.is_some() })
    }
}

fn check_container(reader: &mut Reader<'_>, container: &Node, place: &str, pod: &Context<'_>) -> bool {
    let Some(own) = Context::of(reader, container, place, CONTAINER_CONTEXT) else { return false };
    let says = |key: &str| own.node.and_then(|context| context.get(key)).map(Node::to_json);
    let mut missing = Vec::new();
    if own.non_root.or(pod.non_root) != Some(true) {
        missing.push("runAsNonRoot: true");
    }
    if !own.has_profile && !pod.has_profile {
        missing.push("seccompProfile: {type: RuntimeDefault}");
    }
    if says("allowPrivilegeEscalation") != Some(false.into()) {
        missing.push("allowPrivilegeEscalation: false");
    }
    let texts = |key: &str| {
        let list = says("capabilities").and_then(|capabilities| capabilities.get(key)?.as_array().cloned());
        list.unwrap_or_default()
    };
    if !texts("drop").iter().any(|name| name == "ALL") {
        missing.push("capabilities: {drop: [ALL]}");
    }
    if !missing.is_empty() {
        let message =
            format!("{place}.securityContext: the Pod must meet the restricted standard: add {}", missing.join(", "));
        reader.refuse::<()>(own.node.map_or(container.at, |context| context.at), message);
        return false;
    }
    let adds_more = texts("add").iter().any(|name| name != MAY_ADD);
    if let Some(context) = own.node.filter(|_| adds_more) {
        let message = format!("{place}.securityContext.capabilities.add: {MAY_ADD} at the most");
        reader.refuse::<()>(context.at, message);
    }
    !adds_more
}

/// What is a word of a few, or must not be said at all.
fn check_words(reader: &mut Reader<'_>, pod: &Node, place: &str) -> bool {
    let restarts = pod.get("restartPolicy").filter(|node| !matches!(node.as_text(), Some("Never" | "OnFailure")));
    if let Some(node) = restarts {
        reader.refuse::<()>(node.at, format!("{place}.restartPolicy: Never (default) or OnFailure is needed"));
        return false;
    }
    let token = pod.get("automountServiceAccountToken").filter(|node| node.to_json() != false);
    if let Some(node) = token {
        reader.refuse::<()>(
            node.at,
            format!("{place}.automountServiceAccountToken: no token is mounted into a Job of ours"),
        );
        return false;
    }
    true
}

fn check_volumes(reader: &mut Reader<'_>, node: &Node, place: &str) -> bool {
    let Some(volumes) = items(reader, node, place) else { return false };
    let mut is_good = true;
    for (position, volume) in volumes.iter().enumerate() {
        let place = format!("{place}[{position}]");
        let Some(fields) = entries(reader, volume, &place, VOLUMES) else {
            is_good = false;
            continue;
        };
        if let Some(token) = fields.iter().find_map(|field| token_in(field)) {
            reader.refuse::<()>(token.at, format!("{place}: no token is mounted into a Job of ours"));
            is_good = false;
        }
    }
    is_good
}

/// The source of a projected volume that is a token.
fn token_in(field: &Entry) -> Option<&Node> {
    let Content::List(sources) = &field.value.get("sources")?.content else { return None };
    sources.iter().find_map(|source| source.get("serviceAccountToken"))
}
