//! An API server as a value: versions, generations, finalizers, the status subresource, and the events of watches.
//!
//! JSON Patches are applied with their tests, as by the real one.

use std::collections::BTreeMap;

use drift_api::object::LeanObject;
use drift_api::object::report::{SeenReport, new_report, report_fields};
use json_patch::{AddOperation, Patch, PatchOperation, ReplaceOperation};
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
    /// The reports of the objects, by the name of their object.
    pub(crate) reports: BTreeMap<String, Value>,
    /// The events of their watch, like those of the objects.
    pub(crate) report_log: Vec<(Value, bool)>,
    version: u64,
    created: u64,
    pub(crate) jobs: Jobs,
    /// Every write to a status is rejected, as with a missing right.
    pub(crate) refuses_status: bool,
    /// True if objects have no generation.
    pub(crate) has_no_generations: bool,
}

/// The installation of both programs.
pub(crate) const INSTALLATION: &str = "drift-system/drift-poller";

/// Path of the finalizer list.
const FINALIZERS: &str = "/metadata/finalizers";

impl ApiServer {
    /// Returns the version of the newest change.
    pub(crate) const fn version(&self) -> u64 {
        self.version
    }

    /// Creates an object. Returns false if the name is taken.
    pub(crate) fn create(&mut self, name: &str, spec: Value, labels: Value) -> bool {
        if self.objects.contains_key(name) {
            return false;
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
        true
    }

    /// Deletes an object. Finalizers keep it. Returns false if there is none.
    pub(crate) fn delete(&mut self, name: &str) -> bool {
        let Some(object) = self.objects.get(name) else { return false };
        let mut object = object.clone();
        if object["metadata"]["deletionTimestamp"].is_null() {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
            bump_generation(&mut object);
            self.store(name, object);
        }
        true
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

    /// Applies a JSON Patch to the report of an object in its known state, or writes a whole report.
    pub(crate) fn patch_report(&mut self, known: &LeanObject, patch: &Patch) -> Result<Value, Refusal> {
        let name = &*known.id.name;
        let stored = known.report.as_ref().and_then(|report| report.stored.as_ref());
        if self.refuses_status {
            return Err(Refusal::Refused);
        }
        let before = self.reports.get(name).cloned();
        let version = before.as_ref().map(|report| report["metadata"]["resourceVersion"].clone());
        let mut after = match stored {
            Some(report) if report.object == known.id.uid => before.clone().ok_or(Refusal::Moved)?,
            // A report of a former object is replaced in the version in which it was read.
            _ if version != stored.map(|report| json!(report.resource_version.to_string())) => {
                return Err(Refusal::Moved);
            }
            _ => {
                self.created += 1;
                let mut whole = new_report(INSTALLATION, ("demo.driftpoller.dev/v1", "Thing"), &known.id);
                whole["metadata"]["uid"] = match &before {
                    Some(before) => before["metadata"]["uid"].clone(),
                    None => json!(format!("report-{name}-{}", self.created)),
                };
                whole
            }
        };
        apply(&mut after, patch).map_err(|()| Refusal::Moved)?;
        if before.as_ref() != Some(&after) {
            self.store_report(name, after.clone());
        }
        Ok(self.reports.get(name).cloned().unwrap_or(after))
    }

    /// Changes a report as a person with all rights, or deletes it.
    pub(crate) fn edit_report(&mut self, name: &str, change: impl FnOnce(&mut Value) -> bool) {
        let Some(before) = self.reports.get(name) else { return };
        let mut after = before.clone();
        if !change(&mut after) {
            self.delete_report(name);
        } else if after != *before {
            self.store_report(name, after);
        }
    }

    /// Deletes the reports whose object is gone, some time after it.
    pub(crate) fn collect_garbage(&mut self) {
        let is_owned = |report: &Value| {
            self.objects
                .values()
                .any(|object| object["metadata"]["uid"] == report["metadata"]["ownerReferences"][0]["uid"])
        };
        let left: Vec<String> =
            self.reports.iter().filter(|(_, report)| !is_owned(report)).map(|(name, _)| name.clone()).collect();
        left.iter().for_each(|name| self.delete_report(name));
    }

    pub(crate) fn delete_report(&mut self, name: &str) {
        if let Some(mut report) = self.reports.remove(name) {
            self.version += 1;
            report["metadata"]["resourceVersion"] = json!(self.version.to_string());
            self.report_log.push((report, true));
        }
    }

    fn store_report(&mut self, name: &str, mut report: Value) {
        self.version += 1;
        report["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.reports.insert(name.to_owned(), report.clone());
        self.report_log.push((report, false));
    }

    /// Attaches the report of an object as it is now.
    pub(crate) fn with_report(&self, object: LeanObject) -> LeanObject {
        let report = self.reports.get(&*object.id.name).map(seen_report);
        object.with_report(report.unwrap_or_else(|| SeenReport::absent(None)))
    }

    /// Applies a JSON Patch to the object's status, or to everything except its status.
    pub(crate) fn patch(&mut self, name: &str, patch: &Patch, status: bool) -> Result<Value, Refusal> {
        let before = self.objects.get(name).ok_or(Refusal::Gone)?.clone();
        if status && self.refuses_status {
            return Err(Refusal::Refused);
        }
        let mut patched = before.clone();
        apply(&mut patched, patch).map_err(|()| Refusal::Moved)?;
        let mut after = if status { with_status(&before, &patched) } else { with_status(&patched, &before) };
        let has_more = finalizers(&after).iter().any(|finalizer| !finalizers(&before).contains(finalizer));
        if has_more && !before["metadata"]["deletionTimestamp"].is_null() {
            return Err(Refusal::Refused);
        }
        if after["spec"] != before["spec"] {
            bump_generation(&mut after);
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
        let gone = !object["metadata"]["deletionTimestamp"].is_null() && finalizers(&object).is_empty();
        if gone {
            self.objects.remove(name);
        } else {
            self.objects.insert(name.to_owned(), object.clone());
        }
        self.log.push((object, gone));
    }
}

/// Returns the report as the programs read it.
pub(crate) fn seen_report(report: &Value) -> SeenReport {
    SeenReport::of(LeanObject::prune(report, &report_fields()))
}

fn bump_generation(object: &mut Value) {
    if let Some(generation) = object["metadata"]["generation"].as_i64() {
        object["metadata"]["generation"] = json!(generation + 1);
    }
}

fn finalizers(object: &Value) -> &[Value] {
    object.pointer(FINALIZERS).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
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

/// Applies the operations one by one. To the API server, a missing field of an object equals null and can be replaced.
/// In RFC 6902 it does not, and cannot.
fn apply(object: &mut Value, patch: &Patch) -> Result<(), ()> {
    for operation in &patch.0 {
        let is_missing = |path: &str, object: &Value| {
            let parent = path.rsplit_once('/').and_then(|(parent, _)| object.pointer(parent));
            parent.is_some_and(Value::is_object) && object.pointer(path).is_none()
        };
        let operation = match operation {
            PatchOperation::Test(test) if test.value.is_null() && is_missing(test.path.as_str(), object) => continue,
            PatchOperation::Replace(ReplaceOperation { path, value }) if is_missing(path.as_str(), object) => {
                PatchOperation::Add(AddOperation { path: path.clone(), value: value.clone() })
            }
            operation => operation.clone(),
        };
        json_patch::patch(object, &[operation]).map_err(drop)?;
    }
    Ok(())
}
