//! The ConfigMaps with targets as they are at this moment: a single look without a watch.
//!
//! It must not know the target language.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::Resource;

use crate::client::{CallError, Pages, WholeObjects};
use crate::config::watch::{Documents, document_texts};
use drift_model::names::{TARGETS_LABEL, TRUE};

/// Every document in the labelled ConfigMaps of a namespace.
///
/// # Errors
/// When the API server does not answer or refuses.
pub async fn list_documents(client: &kube::Client, namespace: &str) -> Result<Documents, CallError> {
    let path = ConfigMap::url_path(&(), Some(namespace));
    let mut pages = Pages::new(client.clone(), &path, Some(format!("{TARGETS_LABEL}={TRUE}")), WholeObjects);
    let mut documents = Documents::new();
    while let Some(page) = pages.next().await? {
        for object in &page.items {
            let name = object.pointer("/metadata/name").and_then(serde_json::Value::as_str).unwrap_or_default();
            documents.insert(name.to_owned(), document_texts(object));
        }
    }
    Ok(documents)
}
