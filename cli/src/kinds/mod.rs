//! The cluster's kinds by the words that people type, and the rights that targets need on a kind.

pub(crate) mod named_objects;
pub(crate) mod names;
pub(crate) mod needs;
pub(crate) mod operators;

use std::sync::Arc;

use drift_kube::client::ResolvedKind;
use drift_kube::client::{CALL_DEADLINE, CallError, within};
use kube::core::discovery::v2::APIGroupDiscovery;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use names::{ServedKind, is_definition, served_versions};

/// The scope of a namespaced kind.
const NAMESPACED: &str = "Namespaced";

/// A kind as a command line names it.
pub(crate) struct KindWord {
    word: String,
    served: Arc<[ServedKind]>,
}

impl KindWord {
    /// Asks what the word may stand for. Where the API server does not say, kinds and plurals are known all the same.
    pub(crate) async fn look_up(client: &kube::Client, word: &str) -> Self {
        Self { word: word.to_owned(), served: served_or_none(client).await }
    }

    /// Asks the same about several words; nothing without a word.
    pub(crate) async fn look_up_each(client: &kube::Client, words: &[&str]) -> Vec<Self> {
        if words.is_empty() {
            return Vec::new();
        }
        let served = served_or_none(client).await;
        words.iter().map(|word| Self { word: (*word).to_owned(), served: served.clone() }).collect()
    }

    /// Of a command line without a cluster: definitions among these manifests have short names.
    pub(crate) fn among(manifests: &[Value], word: &str) -> Self {
        let definitions = manifests.iter().filter(|manifest| is_definition(manifest));
        let served = definitions.flat_map(served_versions).map(|(kind, _)| kind).collect();
        Self { word: word.to_owned(), served }
    }

    /// Returns true if it stands for this kind.
    pub(crate) fn means(&self, kind: &ResolvedKind) -> bool {
        let ApiResource { group, plural, .. } = &kind.resource;
        let listed = self.served.iter().filter(|served| served.group == *group && served.plural == *plural);
        listed.chain([&by_itself(kind)]).any(|served| served.is_called(&self.word))
    }
}

async fn served_or_none(client: &kube::Client) -> Arc<[ServedKind]> {
    let served = served_kinds(client).await.unwrap_or_else(|error| {
        tracing::warn!("short names of kinds are not known: {error}");
        Vec::new()
    });
    served.into()
}

/// A kind as far as it is known without a call.
fn by_itself(kind: &ResolvedKind) -> ServedKind {
    let ApiResource { group, version, kind: name, plural, .. } = kind.resource.clone();
    ServedKind { group, version, kind: name, plural, is_namespaced: kind.namespaced, ..ServedKind::default() }
}

/// A listed kind as calls on the API server take it.
pub(crate) fn resolved(served: &ServedKind) -> ResolvedKind {
    let kind = GroupVersionKind::gvk(&served.group, &served.version, &served.kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, &served.plural);
    ResolvedKind { resource, namespaced: served.is_namespaced }
}

/// All kinds in all versions, in the API server's order: the core group first, and of each group the preferred version.
///
/// # Errors
/// When it does not list them at once, as before Kubernetes 1.27.
pub(crate) async fn served_kinds(client: &kube::Client) -> Result<Vec<ServedKind>, CallError> {
    let core = within(CALL_DEADLINE, client.list_core_api_versions_aggregated());
    let groups = within(CALL_DEADLINE, client.list_api_groups_aggregated());
    let (core, groups) = futures::join!(core, groups);
    Ok(core?.items.into_iter().chain(groups?.items).flat_map(kinds_of).collect())
}

fn kinds_of(group: APIGroupDiscovery) -> Vec<ServedKind> {
    let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
    let in_version = |version: kube::core::discovery::v2::APIVersionDiscovery| {
        let (name, number) = (name.clone(), version.version.unwrap_or_default());
        version.resources.into_iter().map(move |listed| ServedKind {
            group: name.clone(),
            version: number.clone(),
            kind: listed.response_kind.and_then(|kind| kind.kind).unwrap_or_default(),
            plural: listed.resource.unwrap_or_default(),
            singular: listed.singular_resource.unwrap_or_default(),
            short_names: listed.short_names,
            is_namespaced: listed.scope.as_deref() == Some(NAMESPACED),
            needs_version: false,
        })
    };
    group.versions.into_iter().flat_map(in_version).collect()
}
