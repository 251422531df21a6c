//! An object of a file as it would be in the cluster once it is applied: by a dry run of the API server, or else by its
//! present state and the schema of its kind.

use drift_api::names::PERSON_MANAGER;
use drift_kube::client::{self, CALL_DEADLINE, CallError, FORBIDDEN, ResolvedKind};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::core::{Request, Resource as _};
use serde_json::{Map, Value, json};

use crate::cluster::get;
use crate::kinds::names::{ServedKind, is_definition, served_versions};

/// The fields of `metadata` that an author writes. The API server sets the others.
const WRITTEN_METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];

/// Note about an object whose kind has no known schema.
const WITHOUT_DEFAULTS: &str =
    "without the defaults of its kind: neither a dry run nor its CustomResourceDefinition was permitted";
/// Note about an object that the schema completed.
const BY_SCHEMA: &str = "with the defaults of its CustomResourceDefinition: a dry run was not permitted";

/// An object as it would be applied.
#[derive(Debug)]
pub(super) struct Applied {
    pub(super) object: Value,
    /// The reason for which it may be another one in the cluster.
    pub(super) note: Option<&'static str>,
}

/// Completes a manifest as an apply would, and writes nothing. `live` is the object that is there. `is_served` is false if
/// the cluster lacks the kind.
///
/// # Errors
/// [`CallError`], if the API server refuses the object.
pub(super) async fn applied(
    client: &kube::Client,
    (kind, is_served): (&ResolvedKind, bool),
    manifest: &Value,
    (live, files): (Option<&Value>, &[Value]),
) -> Result<Applied, CallError> {
    let written = as_written(manifest);
    let tried = match is_served {
        true => try_apply(client, kind, &written, live).await,
        false => Ok(None),
    };
    if let Some(object) = tried? {
        return Ok(Applied { object, note: None });
    }
    let mut object = merged(written, live);
    let schema = match schema_of(files, kind) {
        Some(schema) => Some(schema),
        None if is_served => {
            let name = format!("{}.{}", kind.resource.plural, kind.resource.group);
            let read = get(client, &CustomResourceDefinition::url_path(&(), None), &name).await;
            read.ok().flatten().and_then(|definition| schema_of(&[definition], kind))
        }
        None => None,
    };
    if let Some(schema) = &schema {
        fill(&mut object, schema);
    }
    if let Some(live) = live.filter(|live| live["spec"] != object["spec"])
        && let Some(generation) = live.pointer("/metadata/generation").and_then(Value::as_i64)
    {
        object["metadata"]["generation"] = json!(generation + 1);
    }
    Ok(Applied { object, note: Some(if schema.is_some() { BY_SCHEMA } else { WITHOUT_DEFAULTS }) })
}

/// The part of a manifest that `kubectl apply` writes. A status or a uid of a file is none of the object.
fn as_written(manifest: &Value) -> Value {
    let mut written = manifest.clone();
    if let Some(fields) = written.as_object_mut() {
        fields.remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|field, _| WRITTEN_METADATA.contains(&field.as_str()));
        }
    }
    written
}

/// Applies it as a dry run; `None` if that is not permitted or its namespace is not there yet.
async fn try_apply(
    client: &kube::Client,
    kind: &ResolvedKind,
    written: &Value,
    live: Option<&Value>,
) -> Result<Option<Value>, CallError> {
    let text = |pointer: &str| written.pointer(pointer).and_then(Value::as_str);
    let parameters = PatchParams {
        field_manager: Some(manager_of(live).to_owned()),
        force: true,
        dry_run: true,
        ..PatchParams::default()
    };
    let request = Request::new(kind.path(text("/metadata/namespace")));
    let request = request.patch(text("/metadata/name").unwrap_or_default(), &parameters, &Patch::Apply(written));
    match client::request(client, CALL_DEADLINE, request?).await {
        Err(error) if matches!(error.code(), Some(FORBIDDEN | 404)) => Ok(None),
        other => other.map(Some),
    }
}

/// The field manager that last applied the object, so that a field which its file lost is removed.
fn manager_of(live: Option<&Value>) -> &str {
    let entries = live.and_then(|live| live.pointer("/metadata/managedFields")?.as_array()).into_iter().flatten();
    let applying = entries.filter(|entry| entry["operation"] == "Apply" && entry["subresource"].is_null());
    let last = applying.max_by_key(|entry| entry["time"].as_str().unwrap_or_default());
    last.and_then(|entry| entry["manager"].as_str()).unwrap_or(PERSON_MANAGER)
}

/// The manifest over the present object: its status and metadata stay.
fn merged(mut written: Value, live: Option<&Value>) -> Value {
    let (Some(fields), Some(live)) = (written.as_object_mut(), live.and_then(Value::as_object)) else { return written };
    let mut metadata = live.get("metadata").cloned().unwrap_or_default();
    for part in ["labels", "annotations"] {
        let own = fields.get("metadata").and_then(|own| own.get(part)).and_then(Value::as_object);
        let own: Map<String, Value> = own.cloned().unwrap_or_default();
        match metadata.get_mut(part).and_then(Value::as_object_mut) {
            Some(all) => all.extend(own),
            None => metadata[part] = Value::Object(own),
        }
    }
    fields.insert("metadata".to_owned(), metadata);
    fields.extend(live.get("status").map(|status| ("status".to_owned(), status.clone())));
    written
}

/// The schema of a kind in one version among manifests.
fn schema_of(manifests: &[Value], kind: &ResolvedKind) -> Option<Value> {
    let versions = manifests.iter().filter(|manifest| is_definition(manifest)).flat_map(served_versions);
    let is_it = |(served, _): &(ServedKind, &Value)| {
        let resource = &kind.resource;
        (&served.group, &served.version, &served.kind) == (&resource.group, &resource.version, &resource.kind)
    };
    let (_, version) = versions.into_iter().find(is_it)?;
    Some(version["schema"]["openAPIV3Schema"].clone()).filter(Value::is_object)
}

/// Fills in the defaults of a structural schema, as the API server does.
fn fill(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, below) in schema["properties"].as_object().into_iter().flatten() {
                // A null in place of a field that may not be null counts as missing.
                let is_missing = fields.get(name).is_none_or(|field| field.is_null() && below["nullable"] != true);
                if let Some(default) = below.get("default").filter(|_| is_missing) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                fill(field, schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, &schema["items"])),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_the_schema_are_filled_in() {
        let schema = json!({"properties": {
            "spec": {"default": {}, "properties": {
                "ttl": {"default": 300}, "name": {"default": "x", "nullable": true}, "host": {},
                "list": {"items": {"properties": {"weight": {"default": 1}}}},
                "map": {"additionalProperties": {"properties": {"on": {"default": true}}}},
            }},
        }});
        let table = [
            (json!({}), json!({"spec": {"ttl": 300, "name": "x"}})),
            (json!({"spec": {"ttl": null, "name": null}}), json!({"spec": {"ttl": 300, "name": null}})),
            (
                json!({"spec": {"ttl": 5, "name": "y", "other": {}}}),
                json!({"spec": {"ttl": 5, "name": "y", "other": {}}}),
            ),
            (
                json!({"spec": {"ttl": 5, "name": "y", "list": [{}, {"weight": 2}], "map": {"a": {}}}}),
                json!({"spec": {"ttl": 5, "name": "y", "list": [{"weight": 1}, {"weight": 2}], "map": {"a": {"on": true}}}}),
            ),
        ];
        for (mut object, expected) in table {
            fill(&mut object, &schema);
            assert_eq!(object, expected);
        }
    }

    #[test]
    fn a_file_sets_neither_status_nor_uid() {
        let manifest = json!({"metadata": {"name": "a", "uid": "u", "labels": {"l": "file"}}, "spec": {"a": 1},
            "status": {"id": "stolen"}});
        let live = json!({"metadata": {"name": "a", "uid": "own", "labels": {"l": "live", "m": "live"},
            "annotations": {"paused": "true"}}, "spec": {"a": 0, "b": 0}, "status": {"id": "own"}});
        let expected = json!({"metadata": {"name": "a", "uid": "own", "labels": {"l": "file", "m": "live"},
            "annotations": {"paused": "true"}}, "spec": {"a": 1}, "status": {"id": "own"}});
        assert_eq!(merged(as_written(&manifest), Some(&live)), expected);
        assert_eq!(merged(as_written(&manifest), None)["status"], Value::Null);
    }

    #[test]
    fn the_last_applying_manager_applies() {
        let entry = |manager: &str, operation: &str, time: &str, subresource: Value| json!({"manager": manager, "operation": operation, "time": time, "subresource": subresource});
        let live = json!({"metadata": {"managedFields": [
            entry("old", "Apply", "2026-01-01T00:00:00Z", Value::Null),
            entry("flux", "Apply", "2026-01-02T00:00:00Z", Value::Null),
            entry("kubectl", "Update", "2026-01-03T00:00:00Z", Value::Null),
            entry("drift-poller", "Apply", "2026-01-04T00:00:00Z", json!("status")),
        ]}});
        assert_eq!((manager_of(Some(&live)), manager_of(None)), ("flux", PERSON_MANAGER));
    }
}
