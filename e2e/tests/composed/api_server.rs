//! An API server as a value: versions, generations, finalizers, the status subresource, and the events of watches.
//!
//! JSON Patches are applied with their tests, as by the real one.

use std::collections::BTreeMap;

use json_patch::{Patch, PatchOperation};
use serde_json::{Value, json};

use crate::jobs::Jobs;

/// The reason of a failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Moved,
    Gone,
    Refused,
    Unavailable,
}

/// The objects of one kind, and the correction Jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct ApiServer {
    pub(crate) objects: BTreeMap<String, Value>,
    /// Watch events in order: the object, and true if it is deleted.
    pub(crate) log: Vec<(Value, bool)>,
    version: u64,
    created: u64,
    pub(crate) jobs: Jobs,
    /// Every write to a status is rejected, as with a missing right.
    pub(crate) refuses_status: bool,
    /// True if objects have no generation.
    pub(crate) has_no_generations: bool,
}

/// Path of the finalizer list.
const FINALIZERS: &str = "/metadata/finalizers";

impl ApiServer {
    /// Returns the version of the newest change.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// Creates an object. An existing one of that name stays.
    pub(crate) fn create(&mut self, name: &str, spec: Value, labels: Value) {
        if self.objects.contains_key(name) {
            return;
        }
        self.created += 1;
        let mut metadata = json!({
            "name": name, "namespace": "team", "uid": format!("{name}-{}", self.created), "generation": 1,
            "creationTimestamp": format!("2026-01-01T00:00:{:02}Z", self.created % 60), "labels": labels,
        });
        if self.has_no_generations {
            metadata["generation"].take();
        }
        self.store(name, json!({"metadata": metadata, "spec": spec}));
    }

    /// Deletes an object. Finalizers keep it.
    pub(crate) fn delete(&mut self, name: &str) {
        let Some(object) = self.objects.get(name) else { return };
        let mut object = object.clone();
        if object["metadata"]["deletionTimestamp"].is_null() {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
            bump_generation(&mut object);
            self.store(name, object);
        }
    }

    /// Changes an object as another writer. A changed spec gets a new generation.
    pub(crate) fn edit(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let Some(before) = self.objects.get(name) else { return };
        let mut after = before.clone();
        change(&mut after);
        if after["spec"] != before["spec"] {
            bump_generation(&mut after);
        }
        if after != *before {
            self.store(name, after);
        }
    }

    /// Reads an object with that uid.
    pub(crate) fn read(&self, name: &str, uid: &str) -> Option<Value> {
        self.objects.get(name).filter(|object| object["metadata"]["uid"] == uid).cloned()
    }

    /// Applies a JSON Patch to the object's status, or to everything except its status.
    pub(crate) fn patch(&mut self, name: &str, patch: &Patch, status: bool) -> Result<Value, Refusal> {
        let before = self.objects.get(name).ok_or(Refusal::Gone)?.clone();
        if status && self.refuses_status {
            return Err(Refusal::Refused);
        }
        let mut patched = before.clone();
        apply(&mut patched, patch).map_err(|()| Refusal::Moved)?;
        let after = if status { with_status(&before, &patched) } else { with_status(&patched, &before) };
        let grows = finalizers(&after) > finalizers(&before);
        if grows && !before["metadata"]["deletionTimestamp"].is_null() {
            return Err(Refusal::Refused);
        }
        if after != before {
            self.store(name, after.clone());
        }
        Ok(self.objects.get(name).cloned().unwrap_or(after))
    }

    fn store(&mut self, name: &str, mut object: Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|field, value| field != "finalizers" || *value != json!([]));
        }
        let gone = !object["metadata"]["deletionTimestamp"].is_null() && finalizers(&object) == 0;
        if gone {
            self.objects.remove(name);
        } else {
            self.objects.insert(name.to_owned(), object.clone());
        }
        self.log.push((object, gone));
    }
}

fn bump_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"].as_i64() {
        object["metadata"]["generation"] = json!(generation + 1);
    }
}

fn finalizers(object: &Value) -> usize {
    object.pointer(FINALIZERS).and_then(Value::as_array).map_or(0, Vec::len)
}

/// Returns `object` with the status of `other`.
fn with_status(object: &Value, other: &Value) -> Value {
    let mut whole = object.clone();
    match (other.get("status"), whole.as_object_mut()) {
        (Some(status), Some(fields)) => drop(fields.insert("status".to_owned(), status.clone())),
        (None, Some(fields)) => drop(fields.remove("status")),
        _ => {}
    }
    whole
}

/// Applies the operations one by one, because to the API server a missing field equals null. In RFC 6902 it does not.
fn apply(object: &mut Value, patch: &Patch) -> Result<(), ()> {
    for operation in &patch.0 {
        if let PatchOperation::Test(test) = operation
            && test.value.is_null()
            && object.pointer(test.path.as_str()).is_none()
        {
            continue;
        }
        json_patch::patch(object, std::slice::from_ref(operation)).map_err(drop)?;
    }
    Ok(())
}
