//! Asks the API server for a kind: its plural, its verbs, and the version in which its objects are stored.
//!
//! The stored version is named by `storageVersionHash`, which the list of each served version carries. So no right on
//! CustomResourceDefinitions is needed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResource, APIResourceList};
use kube::core::{ApiResource, GroupVersion, GroupVersionKind};
use sha2::{Digest, Sha256};

use crate::client::{self, CALL_DEADLINE, CallError, ResolvedKind};

/// Bytes of a SHA-256 in a `storageVersionHash`, as in `StorageVersionHash` of k8s.io/apiserver.
const HASH_BYTES: usize = 8;

/// A kind in one served version.
#[derive(Clone, Debug)]
pub(crate) struct ServedKind {
    /// The kind in this version.
    pub(crate) kind: ResolvedKind,
    verbs: Vec<String>,
    /// The hash of the stored version. `None` if that version is not served, or the API server does not say.
    stored_hash: Option<String>,
}

impl ServedKind {
    fn of(listed: APIResource, version: &GroupVersion) -> Self {
        let named = GroupVersionKind::gvk(&version.group, &version.version, &listed.kind);
        let resource = ApiResource::from_gvk_with_plural(&named, &listed.name);
        let kind = ResolvedKind { resource, namespaced: listed.namespaced };
        let stored_hash = listed.storage_version_hash.filter(|hash| !hash.is_empty());
        Self { kind, verbs: listed.verbs, stored_hash }
    }

    /// Returns true if objects of the kind support this verb.
    pub(crate) fn supports(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    /// Returns true if objects are certainly stored in the version that an `apiVersion` of the group names.
    pub(super) fn is_stored_as(&self, api_version: &str) -> bool {
        self.stored_hash.as_ref().is_some_and(|hash| *hash == version_hash(api_version, &self.kind.resource.kind))
    }
}

/// Returns the `storageVersionHash` of a kind that is stored in this version.
fn version_hash(api_version: &str, kind: &str) -> String {
    // The core group has an empty name.
    let slash = if api_version.contains('/') { "" } else { "/" };
    let digest = Sha256::digest(format!("{slash}{api_version}/{kind}").as_bytes());
    STANDARD.encode(&digest[..HASH_BYTES])
}

/// Resolves a kind at the API server. `None` if it is not served in this version.
///
/// # Errors
/// Fails if the API server does not answer or refuses.
pub(crate) async fn discover_kind(
    client: &kube::Client,
    api_version: &str,
    kind: &str,
) -> Result<Option<ServedKind>, CallError> {
    let Ok(version) = api_version.parse::<GroupVersion>() else { return Ok(None) };
    let path = if version.group.is_empty() { format!("/api/{api_version}") } else { format!("/apis/{api_version}") };
    let list: APIResourceList = match ask(client, &path).await {
        Err(error) if error.code() == Some(404) => return Ok(None),
        other => other?,
    };
    // A subresource has the kind of its object, or another one.
    let listed = list.resources.into_iter().find(|listed| listed.kind == kind && !listed.name.contains('/'));
    Ok(listed.map(|listed| ServedKind::of(listed, &version)))
}

/// Returns every served `apiVersion` of a group, the preferred one first. None if the group is not served.
///
/// # Errors
/// Fails if the API server does not answer or refuses.
pub(super) async fn served_versions(client: &kube::Client, group: &str) -> Result<Vec<String>, CallError> {
    if group.is_empty() {
        return Ok(vec!["v1".to_owned()]);
    }
    let found: APIGroup = match ask(client, &format!("/apis/{group}")).await {
        Err(error) if error.code() == Some(404) => return Ok(Vec::new()),
        other => other?,
    };
    let mut versions: Vec<String> = found.preferred_version.into_iter().map(|version| version.group_version).collect();
    for version in found.versions {
        if !versions.contains(&version.group_version) {
            versions.push(version.group_version);
        }
    }
    Ok(versions)
}

async fn ask<T: serde::de::DeserializeOwned>(client: &kube::Client, path: &str) -> Result<T, CallError> {
    let request = http::Request::get(path).body(Vec::new());
    client::request(client, CALL_DEADLINE, request?).await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, reply};
    use serde_json::json;

    #[test]
    fn the_hash_is_that_of_the_api_server() {
        // As `kubectl get --raw /api/v1` and `/apis/apps/v1` of Kubernetes 1.36 list them.
        assert_eq!(version_hash("v1", "ConfigMap"), "qFsyl6wFWjQ=");
        assert_eq!(version_hash("apps/v1", "StatefulSet"), "H+vl74LkKdo=");
    }

    #[tokio::test]
    async fn a_kind_is_found_beside_its_subresources() {
        let listed = |name: &str, kind: &str, hash: &str| json!({"name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["get"], "storageVersionHash": hash});
        let stored = version_hash("g.example/v2", "Ox");
        let (client, log) = answering(move |_| {
            reply(
                200,
                &json!({"kind": "APIResourceList", "groupVersion": "g.example/v1", "resources": [
                listed("oxen/status", "Ox", ""), listed("oxen", "Ox", &stored), listed("cows", "Cow", "")]}),
            )
        });
        let found = discover_kind(&client, "g.example/v1", "Ox").await.unwrap().unwrap();
        assert_eq!((found.kind.resource.plural.as_str(), found.kind.namespaced), ("oxen", true));
        assert!(found.supports("get") && !found.supports("patch"));
        assert!(found.is_stored_as("g.example/v2") && !found.is_stored_as("g.example/v1"));
        let cow = discover_kind(&client, "g.example/v1", "Cow").await.unwrap().unwrap();
        assert!(!cow.is_stored_as("g.example/v1"), "the API server does not say");
        assert!(discover_kind(&client, "g.example/v1", "Goat").await.unwrap().is_none());
        assert_eq!(log.lines(), ["GET /apis/g.example/v1"; 3]);
    }
}
