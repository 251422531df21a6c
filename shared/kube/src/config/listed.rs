//! Lists the current ConfigMaps with targets once, without a watch.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::Resource;
use serde_json::Value;

use crate::client::{CallError, Pages, WholeObjects};
use crate::config::watch::{Documents, document_texts};
use drift_api::names::{TARGETS_LABEL, TRUE};

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
    let name = |object: &Value| object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    config_maps.iter().map(|object| (name(object), document_texts(object))).collect()
}
