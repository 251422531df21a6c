//! Objects of which only the name is kept, for consumers that need the fact of a change but not its content.
//!
//! The API server sends only their metadata, of which three texts are kept.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::Deserializer;

use crate::client::Decode;
use drift_api::object::cluster_resource::ObjectName;

/// Keeps the namespaces and names of objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectNames;

/// An object in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedVersion {
    /// The name of the object.
    pub(crate) name: ObjectName,
    version: String,
}

#[derive(Deserialize)]
struct Partial {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    namespace: Option<String>,
    name: String,
    resource_version: String,
}

impl Decode for ObjectNames {
    type Object = NamedVersion;

    const METADATA_ONLY: bool = true;

    fn decode<'de, D: Deserializer<'de>>(&self, json: D) -> Result<NamedVersion, D::Error> {
        let Partial { metadata: Metadata { namespace, name, resource_version } } = Partial::deserialize(json)?;
        Ok(NamedVersion { name: ObjectName { namespace, name }, version: resource_version })
    }

    fn version(object: &NamedVersion) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&object.version))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn decoded(object: &Value) -> Result<(Option<String>, String, String), serde_json::Error> {
        let named = ObjectNames.decode(object)?;
        let version = ObjectNames::version(&named).unwrap().into_owned();
        Ok((named.name.namespace, named.name.name, version))
    }

    #[test]
    fn of_an_object_its_name_is_kept() {
        let managed = json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]);
        let object = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {
            "name": "orders", "namespace": "team-a", "resourceVersion": "8", "labels": {"a": "b"}, "managedFields": managed}});
        let text = |text: &str| text.to_owned();
        assert_eq!(decoded(&object).unwrap(), (Some(text("team-a")), text("orders"), text("8")));
        let of_cluster = json!({"metadata": {"name": "fast", "resourceVersion": "9"}, "provisioner": "p"});
        assert_eq!(decoded(&of_cluster).unwrap(), (None, text("fast"), text("9")), "a server may send all of it");
        for broken in [json!({}), json!({"metadata": {"name": "a"}}), json!({"metadata": {"resourceVersion": "1"}})] {
            assert!(decoded(&broken).is_err(), "{broken}");
        }
    }
}
