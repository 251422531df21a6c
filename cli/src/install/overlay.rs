//! The shipped overlays, as kustomize rendered them. A test compares each with the output of kustomize.

use drift_language::manifests_of;
use serde_json::Value;

/// The objects of the demonstration, which an installation may leave out.
const DEMONSTRATION: [&str; 4] = [
    include_str!("../../../manifests/components/proxies/proxies.demo.driftpoller.dev.yaml"),
    include_str!("../../../manifests/components/proxies/rbac.yaml"),
    include_str!("../../../manifests/components/proxies/network-policy.yaml"),
    include_str!("../../../manifests/components/proxies/targets.yaml"),
];

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
    let mut objects = manifests_of(match overlay {
        Overlay::Production => include_str!("../../../manifests/rendered/production.yaml"),
        Overlay::ObserveOnly => include_str!("../../../manifests/rendered/observe-only.yaml"),
        Overlay::Webhooks => include_str!("../../../manifests/rendered/webhooks.yaml"),
        Overlay::Demo => include_str!("../../../manifests/rendered/demo.yaml"),
    });
    if !with_demonstration {
        let demonstration: Vec<_> = DEMONSTRATION.iter().flat_map(|text| manifests_of(text)).collect();
        objects.retain(|object| !demonstration.iter().any(|other| is_same(object, other)));
    }
    objects
}

/// Returns true if two manifests are of one object.
fn is_same(one: &Value, other: &Value) -> bool {
    let parts = ["/kind", "/metadata/namespace", "/metadata/name"];
    parts.iter().all(|part| one.pointer(part) == other.pointer(part))
}
