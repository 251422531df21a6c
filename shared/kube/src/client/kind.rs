//! A kind of objects: by its name in all versions, and as the cluster serves it.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::{ApiResource, DynamicObject, Resource};

use drift_api::object::ObjectId;
use drift_language::ObjectSelection;

/// A kind of objects, in any version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindName {
    /// The API group. Empty for the core group.
    pub group: String,
    /// The kind, for example `Proxy`.
    pub kind: String,
}

impl KindName {
    /// Creates it from an `apiVersion` and a `kind`.
    #[must_use]
    pub fn new(api_version: &str, kind: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }

    /// Returns the kind of a selection.
    #[must_use]
    pub fn of(selection: &ObjectSelection) -> Self {
        Self { group: selection.group().to_owned(), kind: selection.kind.clone() }
    }

    /// Returns true if a selection has this kind.
    #[must_use]
    pub fn is_of(&self, selection: &ObjectSelection) -> bool {
        selection.is_of(&self.group, &self.kind)
    }
}

/// A kind that supports the conditions.
#[derive(Clone, Debug)]
pub struct ResolvedKind {
    /// Group, version, kind, plural.
    pub resource: ApiResource,
    /// True if its objects have namespaces.
    pub namespaced: bool,
}

impl ResolvedKind {
    /// Returns the reference that an Event about this object needs.
    #[must_use]
    pub fn reference(&self, id: &ObjectId) -> ObjectReference {
        ObjectReference {
            api_version: Some(self.resource.api_version.clone()),
            kind: Some(self.resource.kind.clone()),
            namespace: id.namespace.as_ref().map(ToString::to_string),
            name: Some(id.name.to_string()),
            uid: Some(id.uid.to_string()),
            ..ObjectReference::default()
        }
    }

    /// Returns the API path of its objects in one namespace, or in the whole cluster.
    #[must_use]
    pub fn path(&self, namespace: Option<&str>) -> String {
        DynamicObject::url_path(&self.resource, namespace.filter(|_| self.namespaced))
    }

    /// One path for each namespace, or one for the whole cluster.
    pub(crate) fn paths(&self, namespaces: &[String]) -> Vec<String> {
        if namespaces.is_empty() || !self.namespaced {
            return vec![self.path(None)];
        }
        namespaces.iter().map(|namespace| self.path(Some(namespace))).collect()
    }
}
