//! The shipped overlays, rendered as kustomize renders them. It knows what their kustomizations use, and no more. A
//! test compares each overlay with the output of kustomize.

use drift_language::manifests_of;
use json_patch::Patch;
use serde_json::Value;

/// Embeds files of `manifests/` with their paths.
macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("../../../manifests/", $path)))),*]
    };
}

const FILES: [(&str, &str); 25] = embedded![
    "base/kustomization.yaml",
    "base/namespace.yaml",
    "base/poller-rbac.yaml",
    "base/controller-rbac.yaml",
    "base/events-rbac.yaml",
    "base/definitions-rbac.yaml",
    "base/admission.yaml",
    "base/network-policy.yaml",
    "base/poller.yaml",
    "base/controller.yaml",
    "components/proxies/kustomization.yaml",
    "components/proxies/proxies.demo.driftpoller.dev.yaml",
    "components/proxies/rbac.yaml",
    "components/proxies/network-policy.yaml",
    "components/proxies/targets.yaml",
    "components/hints/kustomization.yaml",
    "components/hints/service.yaml",
    "components/hints/network-policy.yaml",
    "overlays/demo/kustomization.yaml",
    "overlays/observe-only/kustomization.yaml",
    "overlays/production/kustomization.yaml",
    "overlays/production/disruption.yaml",
    "overlays/production/priority.yaml",
    "overlays/production/replicas.yaml",
    "overlays/webhooks/kustomization.yaml",
];

/// The component with the demonstration.
const DEMONSTRATION: &str = "components/proxies";

/// A folder of `manifests/overlays`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Overlay {
    /// Two replicas of each program, disruption budgets, a priority
    Production,
    /// The poller alone: nothing has the right to correct
    ObserveOnly,
    /// One replica of each program, and a port for webhooks
    Webhooks,
    /// One replica of each program
    Demo,
}

/// Returns the objects of an overlay.
pub(super) fn rendered(overlay: Overlay, with_demonstration: bool) -> Vec<Value> {
    let name = match overlay {
        Overlay::Production => "production",
        Overlay::ObserveOnly => "observe-only",
        Overlay::Webhooks => "webhooks",
        Overlay::Demo => "demo",
    };
    let mut objects = Vec::new();
    add(&format!("overlays/{name}"), with_demonstration, &mut objects);
    objects
}

/// Adds the objects of a kustomization, and applies its labels and patches to all objects.
fn add(folder: &str, with_demonstration: bool, objects: &mut Vec<Value>) {
    if folder == DEMONSTRATION && !with_demonstration {
        return;
    }
    let kustomization = documents(folder, "kustomization.yaml").pop().unwrap_or_default();
    let parts = list(&kustomization, "resources").chain(list(&kustomization, "components"));
    for part in parts.filter_map(Value::as_str) {
        match part.strip_prefix("../../") {
            Some(other) => add(other, with_demonstration, objects),
            None => objects.extend(documents(folder, part)),
        }
    }
    for (key, value) in list(&kustomization, "labels").filter_map(|label| label["pairs"].as_object()).flatten() {
        objects.iter_mut().for_each(|object| object["metadata"]["labels"][key] = value.clone());
    }
    for entry in list(&kustomization, "patches") {
        let written = entry["patch"].as_str().map(|text| manifests_of(text).pop());
        let patch = written.unwrap_or_else(|| documents(folder, entry["path"].as_str().unwrap_or_default()).pop());
        apply(&patch.unwrap_or_default(), &entry["target"], objects);
    }
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

fn documents(folder: &str, file: &str) -> Vec<Value> {
    let path = format!("{folder}/{file}");
    FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| manifests_of(text)).unwrap_or_default()
}

/// Applies a patch: a JSON patch, a deletion, or a spec to merge.
fn apply(patch: &Value, target: &Value, objects: &mut Vec<Value>) {
    if patch["$patch"] == "delete" {
        objects.retain(|object| !matches(target, object));
    }
    let steps: Patch = serde_json::from_value(patch.clone()).unwrap_or_default();
    for object in objects.iter_mut().filter(|object| matches(target, object)) {
        // The embedded patches fit their objects: the test compares the result.
        let _ = json_patch::patch(object, &steps);
        if let Some(spec) = patch.get("spec") {
            json_patch::merge(&mut object["spec"], spec);
        }
    }
}

/// Returns true if the target of a patch selects an object. A name may end with `.*`.
fn matches(target: &Value, object: &Value) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let selected = target["name"].as_str().unwrap_or(".*");
    let is_named = selected.strip_suffix(".*").map_or(name == selected, |prefix| name.starts_with(prefix));
    is_named && target["kind"] == object["kind"]
}
