//! Lists the current ConfigMaps with targets once, without a watch.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::Resource;
use serde_json::Value;

use crate::client::{CallError, Pages, WholeObjects};
use crate::config::watch::{Documents, document_texts, metadata_text};
use drift_api::names::{FORGOTTEN_CONFIG_MAP, TARGETS_LABEL, TRUE};
use drift_language::CreationTimes;

/// Lists the labelled ConfigMaps of a namespace, complete.
///
/// # Errors
/// Fails if the API server does not answer or refuses.
pub async fn list_config_maps(client: &kube::Client, namespace: &str) -> Result<Vec<Value>, CallError> {
    let path = ConfigMap::url_path(&(), Some(namespace));
    let mut pages = Pages::new(client.clone(), &path, Some(format!("{TARGETS_LABEL}={TRUE}")), WholeObjects);
    let mut config_maps = Vec::new();
    while let Some(page) = pages.next().await? {
        config_maps.extend(page.items);
    }
    Ok(config_maps)
}

/// Returns every document in these ConfigMaps.
#[must_use]
pub fn documents_in(config_maps: &[Value]) -> Documents {
    let texts = config_maps.iter().map(|object| (metadata_text(object, "/metadata/name"), document_texts(object)));
    texts.filter(|(name, _)| name != FORGOTTEN_CONFIG_MAP).collect()
}

/// Returns the creation times of these ConfigMaps.
#[must_use]
pub fn creation_times_of(config_maps: &[Value]) -> CreationTimes {
    let name = |object: &Value| metadata_text(object, "/metadata/name");
    config_maps.iter().map(|object| (name(object), metadata_text(object, "/metadata/creationTimestamp"))).collect()
}
