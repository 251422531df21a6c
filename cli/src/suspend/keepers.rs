//! The tool that applies an object and will revert an edit, known by the marks of Flux, Argo CD, Helm and `kubectl
//! apply`.

use serde_json::Value;

/// Labels and annotations by which keepers know their objects, and what people call the keeper.
const MARKS: [(&str, &str, &str); 5] = [
    ("labels", "kustomize.toolkit.fluxcd.io/name", "Flux's Kustomization"),
    ("labels", "helm.toolkit.fluxcd.io/name", "Flux's HelmRelease"),
    ("annotations", "argocd.argoproj.io/tracking-id", "Argo CD's application"),
    ("labels", "argocd.argoproj.io/instance", "Argo CD's application"),
    ("annotations", "meta.helm.sh/release-name", "the Helm release"),
];

/// What `kubectl apply` without `--server-side` leaves.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Who puts an edit back, in words; `None` where nobody is known to. `own` is the field manager of the edit itself.
#[must_use]
pub(crate) fn keeper_of(object: &Value, own: &str) -> Option<String> {
    let metadata = object.get("metadata")?;
    let marked = MARKS.iter().find_map(|(place, mark, keeper)| {
        let name = metadata.get(place)?.get(mark)?.as_str()?;
        Some(format!("{keeper} {name}"))
    });
    let is_applied = metadata.get("annotations").is_some_and(|all| all.get(APPLIED).is_some());
    marked.or_else(|| is_applied.then(|| "whoever applies it with kubectl".to_owned())).or_else(|| {
        let fields = metadata.get("managedFields")?.as_array()?;
        let appliers = fields.iter().filter(|entry| entry.get("operation").and_then(Value::as_str) == Some("Apply"));
        let mut names = appliers.filter_map(|entry| entry.get("manager")?.as_str()).filter(|name| *name != own);
        names.next().map(|name| format!("whoever applies it as `{name}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whoever_puts_an_edit_back_has_left_a_mark() {
        let table = [
            (json!({"labels": {"kustomize.toolkit.fluxcd.io/name": "targets"}}), Some("Flux's Kustomization targets")),
            (json!({"labels": {"helm.toolkit.fluxcd.io/name": "drift"}}), Some("Flux's HelmRelease drift")),
            (
                json!({"annotations": {"argocd.argoproj.io/tracking-id": "drift:/ConfigMap:a/b"}}),
                Some("Argo CD's application drift:/ConfigMap:a/b"),
            ),
            (json!({"annotations": {"meta.helm.sh/release-name": "drift"}}), Some("the Helm release drift")),
            (json!({"annotations": {(APPLIED): "{}"}}), Some("whoever applies it with kubectl")),
            (json!({"managedFields": [{"operation": "Apply", "manager": "ci"}]}), Some("whoever applies it as `ci`")),
            (
                json!({"managedFields": [{"operation": "Update", "manager": "kubectl-edit"}, {"operation": "Apply", "manager": "us"}]}),
                None,
            ),
            (json!({"labels": {"driftpoller.dev/targets": "true"}}), None),
        ];
        for (metadata, expected) in table {
            assert_eq!(keeper_of(&json!({"metadata": metadata}), "us").as_deref(), expected, "{metadata}");
        }
    }
}
