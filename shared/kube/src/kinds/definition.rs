//! The content of a CustomResourceDefinition.

use kube::core::{ApiResource, GroupVersion, GroupVersionKind};
use serde_json::{Value, json};

use crate::client::ResolvedKind;

/// The scope of a kind: cluster or namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Namespace,
    Cluster,
}

/// The content of one CustomResourceDefinition.
#[derive(Debug)]
pub(super) struct Defined {
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) home: Home,
    /// The content of `spec.versions`.
    pub(super) versions: Value,
    /// True if a webhook converts between versions.
    pub(super) is_converted: bool,
}

/// Returns a kind by its parts.
pub(super) fn resolved(version: &GroupVersion, kind: &str, plural: &str, home: Home) -> ResolvedKind {
    let named = GroupVersionKind::gvk(&version.group, &version.version, kind);
    let resource = ApiResource::from_gvk_with_plural(&named, plural);
    ResolvedKind { resource, namespaced: home == Home::Namespace }
}

impl Defined {
    /// Returns the kind in this version, served or not.
    pub(super) fn resolved(&self, version: &GroupVersion) -> ResolvedKind {
        resolved(version, &self.kind, &self.plural, self.home)
    }

    /// Returns a version of the definition; `None` if the API server would not serve it.
    pub(super) fn served(&self, version: &str) -> Option<&Value> {
        let is_it = |entry: &&Value| entry["name"] == version && entry["served"] != false;
        self.versions.as_array()?.iter().find(is_it)
    }

    /// Returns the schema that the API server would publish for a version; `None` if it would not serve it.
    pub(super) fn published(&self, version: &str) -> Option<Value> {
        let entry = self.served(version)?;
        let mut schema = entry["schema"]["openAPIV3Schema"].clone();
        let named = json!({"group": self.group, "version": version, "kind": self.kind});
        schema.as_object_mut()?.insert("x-kubernetes-group-version-kind".to_owned(), json!([named]));
        let status = format!("/apis/{}/{version}/{}/{{name}}/status", self.group, self.plural);
        let has_status = !entry["subresources"]["status"].is_null();
        let paths = if has_status { json!({status: {"patch": {}}}) } else { json!({}) };
        Some(json!({"paths": paths, "components": {"schemas": {"kind": schema}}}))
    }
}

/// Reads a CustomResourceDefinition. `None` for any other manifest.
pub(super) fn defined(manifest: &Value) -> Option<Defined> {
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
        versions: manifest.pointer("/spec/versions").cloned().unwrap_or_default(),
        is_converted: text("/spec/conversion/strategy").is_some_and(|strategy| strategy == "Webhook"),
    })
}
