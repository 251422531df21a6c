//! Kinds that are known without a cluster: those of CustomResourceDefinitions in files, with the parts that they lack
//! for a target, and Kubernetes' own.
//!
//! Roles name a kind by its plural, which no target contains. A plural is never guessed: a right on a wrong name looks
//! granted and grants nothing.

use kube::core::GroupVersion;
use serde_json::Value;

use crate::client::ResolvedKind;
use crate::kinds::ExaminedKind;
use crate::kinds::declared::mistakes_by;
use crate::kinds::definition::{Defined, Home, defined, resolved};
use crate::kinds::lossy_version::{LossyVersion, lossy_by_definition};
use crate::kinds::schema::Schema;
use drift_api::condition::GenerationPlace;
use drift_language::cel::did_you_mean;
use drift_language::{ObjectSelection, Target, TypeMistake, manifests_of};

/// Group, kind and plural of Kubernetes' own kinds that targets select or their manifests create. The plurals are part
/// of its API and never change.
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

/// Kinds that are known without a cluster.
#[derive(Debug, Default)]
pub struct WrittenKinds {
    defined: Vec<Defined>,
}

impl WrittenKinds {
    /// Reads Kubernetes' own kinds, and those of the CustomResourceDefinitions among some manifests.
    #[must_use]
    pub fn read<'m>(manifests: impl IntoIterator<Item = &'m Value>) -> Self {
        Self { defined: manifests.into_iter().filter_map(defined).collect() }
    }

    /// Resolves a kind. `None` also if its definition does not serve the version. For Kubernetes' own kinds every
    /// version is accepted.
    #[must_use]
    pub fn find(&self, api_version: &str, kind: &str) -> Option<ResolvedKind> {
        let version = api_version.parse::<GroupVersion>().ok()?;
        if let Some(defined) = self.defined(&version, kind) {
            return defined.served(&version.version).map(|_| defined.resolved(&version));
        }
        let is_it = |(group, own, ..): &&(&str, &str, &str, Home)| *group == version.group && *own == kind;
        OF_KUBERNETES.iter().find(is_it).map(|(_, _, plural, home)| resolved(&version, kind, plural, *home))
    }

    fn defined(&self, version: &GroupVersion, kind: &str) -> Option<&Defined> {
        self.defined.iter().find(|one| one.group == version.group && one.kind == kind)
    }

    /// Returns true if there are definitions here, and this kind is neither among them nor one of Kubernetes' own.
    /// Groups of Kubernetes have no dot or end in `.k8s.io`; this covers kinds that are not listed above.
    #[must_use]
    pub fn lacks(&self, objects: &ObjectSelection) -> bool {
        let group = objects.group();
        let is_of_kubernetes = !group.contains('.') || group.ends_with(".k8s.io");
        !self.defined.is_empty() && !is_of_kubernetes && self.find(&objects.api_version, &objects.kind).is_none()
    }

    /// Suggests the kind of the same group that was probably meant, as a question. Empty if none is similar.
    #[must_use]
    pub fn question(&self, objects: &ObjectSelection) -> String {
        let beside = self.defined.iter().filter(|one| one.group == objects.group() && one.kind != objects.kind);
        did_you_mean(&objects.kind, beside.map(|one| one.kind.as_str()))
    }

    /// Returns the reason for which no write may go through this version of a kind. `None` also if no definition has it.
    #[must_use]
    pub fn lossy(&self, api_version: &str, kind: &str) -> Option<LossyVersion> {
        let version = api_version.parse::<GroupVersion>().ok()?;
        lossy_by_definition(self.defined(&version, kind)?, &version.version)
    }

    /// Examines the target's kind by its definition; `None` if there is none.
    #[must_use]
    pub fn examine(&self, target: &Target) -> Option<ExaminedKind> {
        let version = target.objects.api_version.parse::<GroupVersion>().ok()?;
        let defined = self.defined(&version, &target.objects.kind)?;
        let (resolved, GroupVersion { group, version }) = (defined.resolved(&version), version);
        let Some(document) = defined.published(&version) else {
            let problem = format!(
                "CustomResourceDefinition {}.{group} serves no version {version}: correct objects.apiVersion, or add the version",
                defined.plural
            );
            return Some(ExaminedKind {
                kind: resolved,
                generation_place: GenerationPlace::Field,
                problems: vec![problem],
                doubts: Vec::new(),
                unknown: Vec::new(),
                stored: None,
                document: Value::Null,
            });
        };
        Some(ExaminedKind::by(document, resolved, lossy_by_definition(defined, &version), target))
    }

    /// Returns the type mistakes in the text of a target that cannot be loaded for another reason.
    #[must_use]
    pub fn type_mistakes(&self, text: &str) -> Vec<TypeMistake> {
        let manifest = manifests_of(text).into_iter().next().unwrap_or_default();
        let stated = |field: &str| manifest["spec"]["objects"][field].as_str().unwrap_or_default();
        let Ok(version) = stated("apiVersion").parse::<GroupVersion>() else { return Vec::new() };
        let Some(defined) = self.defined(&version, stated("kind")) else { return Vec::new() };
        let Some(document) = defined.published(&version.version) else { return Vec::new() };
        mistakes_by(&Schema { document: &document, kind: &defined.resolved(&version) }, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_language::DocumentName;
    use drift_language::parse_document;
    use serde_json::json;

    #[test]
    fn a_definition_tells_what_a_target_lacks() {
        let text = json!({"type": "string"});
        let items = json!({"type": "object", "properties": {"type": text, "status": text, "message": text,
            "observedGeneration": {"type": "integer"}, "lastTransitionTime": text}});
        let status = json!({"type": "object", "properties": {"conditions": {"type": "array", "items": items}}});
        let spec = json!({"type": "object", "properties": {"weight": {"type": "integer"}}});
        let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
        let definition = json!({"kind": "CustomResourceDefinition", "spec": {"group": "g.example", "scope": "Cluster",
            "names": {"kind": "Ox", "plural": "oxen"}, "versions": [{"name": "v1", "served": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema}}]}});
        let kinds = WrittenKinds::read([&definition]);
        let examined = |version: &str, kind: &str| {
            let text = format!(
                "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: t}}, spec: {{objects: {{apiVersion: \
                 {version}, kind: {kind}}}, identity: '${{self.metadata.name}}', read: {{http: {{url: 'https://h/x'}}}}, compare: \
                 {{desired: {{a: '${{self.spec.wieght}}'}}}}}}}}"
            );
            let name = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
            let examined = kinds.examine(&parse_document(&name, &text).ok()?)?;
            let unknown = examined.unknown.into_iter().map(|field| field.message);
            Some(examined.problems.into_iter().chain(unknown).collect::<Vec<_>>())
        };
        let found = examined("g.example/v1", "Ox").unwrap_or_default();
        assert!(
            matches!(&*found, [lost, unknown]
            if lost.contains("has no field reason") && unknown.ends_with("did you mean `weight`?")),
            "{found:?}"
        );
        let other = examined("g.example/v2", "Ox").unwrap_or_default();
        assert!(
            other.concat().starts_with("CustomResourceDefinition oxen.g.example serves no version v2"),
            "{other:?}"
        );
        assert_eq!((examined("v1", "Service"), examined("g.example/v1", "Cow")), (None, None));
    }

    #[test]
    fn conditions_in_a_report_need_no_status() {
        let status = json!({"type": "object", "required": ["ready"], "properties": {"ready": {"type": "boolean"}}});
        let definition = json!({"kind": "CustomResourceDefinition", "spec": {"group": "g.example", "scope": "Namespaced",
            "names": {"kind": "Ox", "plural": "oxen"}, "versions": [{"name": "v1", "schema": {"openAPIV3Schema":
                {"type": "object", "properties": {"status": status}}}}]}});
        let kinds = WrittenKinds::read([&definition]);
        for (place, problems, doubts) in [("Object", 2, 1), ("Report", 0, 0)] {
            let text = format!(
                "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: t}}, spec: {{objects: {{apiVersion: \
                 g.example/v1, kind: Ox, conditions: {place}}}, identity: '${{self.metadata.name}}', read: {{http: {{url: 'https://h/x'}}}}, \
                 compare: {{desired: {{a: b}}}}}}}}"
            );
            let name = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
            let examined = parse_document(&name, &text).ok().and_then(|target| kinds.examine(&target));
            let found = examined.map(|examined| (examined.problems.len(), examined.doubts.len()));
            assert_eq!(found, Some((problems, doubts)), "{place}");
        }
    }

    #[test]
    fn a_text_with_another_error_is_checked_for_types() {
        let schema = json!({"properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
        let definition = json!({"kind": "CustomResourceDefinition", "spec": {"group": "g.example", "scope": "Cluster",
            "names": {"kind": "Ox", "plural": "oxen"}, "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}});
        let kinds = WrittenKinds::read([&definition]);
        let text = "spec:\n  objects: {apiVersion: g.example/v1, kind: Ox}\n  identity: \"${self.\"\n  compare: {desired: {a: \"${self.spec.size}\"}}";
        let found = kinds.type_mistakes(text);
        assert!(matches!(&*found, [one] if one.message.starts_with("`self.spec.size` may be missing")), "{found:?}");
        assert!(kinds.type_mistakes("spec: [").is_empty() && kinds.type_mistakes("a: 1").is_empty());
        assert!(kinds.type_mistakes(&text.replace("Ox", "Cow")).is_empty());
    }

    #[test]
    fn a_definition_tells_which_versions_lose_fields() {
        let schema = |fields: &[&str]| {
            let fields = fields.iter().map(|name| ((*name).to_owned(), json!({"type": "string"})));
            json!({"openAPIV3Schema": {"properties": {"spec": {"properties": Value::Object(fields.collect())}}}})
        };
        let version = |name: &str, storage: bool, fields: &[&str]| json!({"name": name, "served": true, "storage": storage, "schema": schema(fields)});
        let kinds = |conversion: Value| {
            let versions = json!([
                version("v1alpha1", false, &["a"]),
                version("v1beta1", false, &["a", "b"]),
                version("v1", true, &["a", "b"])
            ]);
            let definition = json!({"kind": "CustomResourceDefinition", "spec": {"group": "g.example", "scope": "Cluster",
                "names": {"kind": "Ox", "plural": "oxen"}, "versions": versions, "conversion": conversion}});
            WrittenKinds::read([&definition])
        };
        let lost = "oxen.g.example are stored as v1, and each write through v1alpha1 removes spec.b from the stored object: \
                    write apiVersion g.example/v1";
        for (conversion, version, expected) in [
            (Value::Null, "g.example/v1alpha1", Some(lost)),
            (json!({"strategy": "None"}), "g.example/v1alpha1", Some(lost)),
            (json!({"strategy": "Webhook"}), "g.example/v1alpha1", None),
            (Value::Null, "g.example/v1beta1", None),
            (Value::Null, "g.example/v1", None),
            (Value::Null, "g.example/v2", None),
        ] {
            let lossy = kinds(conversion).lossy(version, "Ox").map(|lossy| lossy.to_string());
            assert_eq!(lossy.as_deref(), expected, "{version}");
        }
        assert_eq!(kinds(Value::Null).lossy("g.example/v1", "Cow"), None);
    }

    #[test]
    fn only_kinds_that_somebody_defines_are_lacked() {
        let definition = json!({"kind": "CustomResourceDefinition", "spec": {"group": "g.example", "scope": "Cluster",
            "names": {"kind": "Ox", "plural": "oxen"}, "versions": [{"name": "v1"}]}});
        let kinds = WrittenKinds::read([&definition]);
        for (version, kind, expected) in [
            ("g.example/v1", "Ox", false),
            ("g.example/v2", "Ox", true),
            ("g.example/v1", "Cow", true),
            ("g.example/v1", "Oxs", true),
            ("g.example/v1", "ox", true),
            ("other.example/v1", "Ow", true),
            ("other.example/v1", "Ox", true),
            ("notk8s.io/v1", "Ox", true),
            ("v1", "Event", false),
            ("apps/v1", "ControllerRevision", false),
            ("scheduling.k8s.io/v1", "PriorityClass", false),
            ("coordination.k8s.io/v1", "Lease", false),
            ("discovery.k8s.io/v1", "EndpointSlice", false),
        ] {
            let text = format!(
                "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: t}}, spec: {{objects: {{apiVersion: \
                 {version}, kind: {kind}}}, identity: x, read: {{http: {{url: 'https://h/x'}}}}, compare: {{desired: {{a: b}}}}}}}}"
            );
            let name = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
            let lacks =
                |kinds: &WrittenKinds| parse_document(&name, &text).ok().map(|target| kinds.lacks(&target.objects));
            assert_eq!(lacks(&kinds), Some(expected), "{version} {kind}");
            assert_eq!(lacks(&WrittenKinds::default()), Some(false), "{version} {kind}");
            let question = parse_document(&name, &text).ok().map(|target| kinds.question(&target.objects));
            let expected = if matches!(kind, "Oxs" | "ox") { ": did you mean `Ox`?" } else { "" };
            assert_eq!(question.as_deref(), Some(expected), "{version} {kind}");
        }
    }

    #[test]
    fn a_kind_is_found_where_it_is_written() {
        let definition = |scope: &str| {
            json!({"kind": "CustomResourceDefinition", "spec": {"group": "g.example", "scope": scope,
                "names": {"kind": "Ox", "plural": "oxen"}, "versions": [{"name": "v1", "served": false}, {"name": "v2"}]}})
        };
        let manifests = [json!({"kind": "Service"}), definition("Cluster"), json!(null)];
        let kinds = WrittenKinds::read(&manifests);
        let found = |version: &str, kind: &str| {
            kinds.find(version, kind).map(|found| (found.resource.plural, found.namespaced))
        };
        assert_eq!(found("g.example/v2", "Ox"), Some(("oxen".to_owned(), false)));
        assert_eq!(found("apps/v1", "StatefulSet"), Some(("statefulsets".to_owned(), true)));
        assert_eq!(found("v1", "Node"), Some(("nodes".to_owned(), false)));
        for (version, kind) in [
            ("g.example/v1", "Ox"),
            ("g.example/v3", "Ox"),
            ("g.example/v2", "Cow"),
            ("other.example/v2", "Ox"),
            ("v1", "Ox"),
            ("a/b/c", "Ox"),
        ] {
            assert_eq!(found(version, kind), None, "{version} {kind}");
        }
    }
}
