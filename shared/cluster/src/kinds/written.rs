//! Kinds as they are known without a cluster: those of CustomResourceDefinitions that somebody wrote, and Kubernetes' own.
//!
//! Roles name a kind by its plural, which no target says. A plural is never guessed: a right on a name that does not exist looks
//! granted and grants nothing. This file must not know where manifests come from.

use kube::core::{ApiResource, GroupVersion, GroupVersionKind};
use serde_json::Value;

use crate::kinds::ResolvedKind;

/// Where Kubernetes' objects of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Namespace,
    Cluster,
}

/// The group, kind and plural of Kubernetes' own kinds that targets are about or that manifests of targets make. The plurals are part of
/// its API, so they do not change.
const OF_KUBERNETES: &[(&str, &str, &str, Home)] = &[
    ("", "ConfigMap", "configmaps", Home::Namespace),
    ("", "Endpoints", "endpoints", Home::Namespace),
    ("", "LimitRange", "limitranges", Home::Namespace),
    ("", "Namespace", "namespaces", Home::Cluster),
    ("", "Node", "nodes", Home::Cluster),
    ("", "PersistentVolume", "persistentvolumes", Home::Cluster),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims", Home::Namespace),
    ("", "Pod", "pods", Home::Namespace),
    ("", "ReplicationController", "replicationcontrollers", Home::Namespace),
    ("", "ResourceQuota", "resourcequotas", Home::Namespace),
    ("", "Service", "services", Home::Namespace),
    ("", "ServiceAccount", "serviceaccounts", Home::Namespace),
    ("apps", "DaemonSet", "daemonsets", Home::Namespace),
    ("apps", "Deployment", "deployments", Home::Namespace),
    ("apps", "ReplicaSet", "replicasets", Home::Namespace),
    ("apps", "StatefulSet", "statefulsets", Home::Namespace),
    ("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Home::Namespace),
    ("batch", "CronJob", "cronjobs", Home::Namespace),
    ("batch", "Job", "jobs", Home::Namespace),
    ("networking.k8s.io", "Ingress", "ingresses", Home::Namespace),
    ("networking.k8s.io", "IngressClass", "ingressclasses", Home::Cluster),
    ("networking.k8s.io", "NetworkPolicy", "networkpolicies", Home::Namespace),
    ("policy", "PodDisruptionBudget", "poddisruptionbudgets", Home::Namespace),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", Home::Cluster),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", Home::Cluster),
    ("rbac.authorization.k8s.io", "Role", "roles", Home::Namespace),
    ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings", Home::Namespace),
    ("storage.k8s.io", "StorageClass", "storageclasses", Home::Cluster),
];

/// What one CustomResourceDefinition says.
#[derive(Debug)]
struct Defined {
    group: String,
    kind: String,
    plural: String,
    home: Home,
}

/// Kinds that can be told without a cluster.
#[derive(Debug, Default)]
pub struct WrittenKinds {
    defined: Vec<Defined>,
}

impl WrittenKinds {
    /// Kubernetes' own, and those that the CustomResourceDefinitions among some manifests define.
    #[must_use]
    pub fn read<'m>(manifests: impl IntoIterator<Item = &'m Value>) -> Self {
        Self { defined: manifests.into_iter().filter_map(defined).collect() }
    }

    /// What the API server calls a kind.
    #[must_use]
    pub fn find(&self, api_version: &str, kind: &str) -> Option<ResolvedKind> {
        let version = api_version.parse::<GroupVersion>().ok()?;
        let written = self.defined.iter().find(|one| one.group == version.group && one.kind == kind);
        let (plural, home) = match written {
            Some(defined) => (defined.plural.as_str(), defined.home),
            None => OF_KUBERNETES
                .iter()
                .find(|(group, own, ..)| *group == version.group && *own == kind)
                .map(|(_, _, plural, home)| (*plural, *home))?,
        };
        let named = GroupVersionKind::gvk(&version.group, &version.version, kind);
        let resource = ApiResource::from_gvk_with_plural(&named, plural);
        Some(ResolvedKind { resource, namespaced: home == Home::Namespace })
    }
}

fn defined(manifest: &Value) -> Option<Defined> {
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    if manifest.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition") {
        return None;
    }
    let home = if text("/spec/scope")? == "Cluster" { Home::Cluster } else { Home::Namespace };
    Some(Defined {
        group: text("/spec/group")?,
        kind: text("/spec/names/kind")?,
        plural: text("/spec/names/plural")?,
        home,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_kind_is_found_where_it_is_written() {
        let definition = |scope: &str| {
            json!({"kind": "CustomResourceDefinition", "spec": {"group": "g.example", "scope": scope,
                "names": {"kind": "Ox", "plural": "oxen"}}})
        };
        let manifests = [json!({"kind": "Service"}), definition("Cluster"), json!(null)];
        let kinds = WrittenKinds::read(&manifests);
        let found = |version: &str, kind: &str| {
            kinds.find(version, kind).map(|found| (found.resource.plural, found.namespaced))
        };
        assert_eq!(found("g.example/v2", "Ox"), Some(("oxen".to_owned(), false)));
        assert_eq!(found("apps/v1", "StatefulSet"), Some(("statefulsets".to_owned(), true)));
        assert_eq!(found("v1", "Node"), Some(("nodes".to_owned(), false)));
        for (version, kind) in [("g.example/v1", "Cow"), ("other.example/v1", "Ox"), ("v1", "Ox"), ("a/b/c", "Ox")] {
            assert_eq!(found(version, kind), None, "{version} {kind}");
        }
    }
}
