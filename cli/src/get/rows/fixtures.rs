//! Rows for tests.

use std::sync::Arc;

use super::*;
use drift_api::object::field_paths::FieldPaths;

pub(super) const TARGET: &str = "{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {name: t}, spec: {objects: {apiVersion: g.example/v1, \
                      kind: Proxy}, identity: x, read: {http: {url: 'https://h/x'}}, compare: {desired: {a: 1}}}}";

/// The row of an object with these conditions.
pub(in crate::get) fn row(name: &str, conditions: &Value) -> Row {
    let target = Arc::new(drift_language::fixtures::target(TARGET));
    let objects = target.objects.clone();
    let object =
        json!({"metadata": {"name": name, "namespace": "n", "generation": 2}, "status": {"conditions": conditions}});
    Row::of((&KnownTarget::Text(target), &objects), &LeanObject::prune(&object, &FieldPaths::default()))
}

/// The row of an object that has no condition yet.
pub(in crate::get) fn named_row(name: &str) -> Row {
    row(name, &json!([]))
}
