//! One Lease on the API server: read, and replaced only in the version that was read.
//!
//! With it, the tasks use only [`LeaseRecord`]s and versions.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{GetParams, PostParams};
use kube::core::{Request, Resource};
use serde_json::{Value, json};

use crate::client;
use crate::client::CallError;
use crate::lease::rules::LeaseRecord;

/// Deadline of one call. Three of them fit between a due renewal and stepping down.
const LEASE_DEADLINE: Duration = Duration::from_millis(1500);

/// Access to a Lease by name.
#[derive(Clone)]
pub(crate) struct LeaseStore {
    client: kube::Client,
    namespace: String,
    name: String,
    manager: &'static str,
}

/// A Lease as read: the record, and the whole object to write it back without losing others' fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredLease {
    pub(crate) record: Option<LeaseRecord>,
    object: Value,
}

impl LeaseStore {
    pub(crate) fn new(client: kube::Client, namespace: &str, name: &str, manager: &'static str) -> Self {
        Self { client, namespace: namespace.to_owned(), name: name.to_owned(), manager }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the Lease.
    pub(crate) async fn read(&self) -> Result<StoredLease, CallError> {
        let request = self.collection().get(&self.name, &GetParams::default())?;
        match client::request(&self.client, LEASE_DEADLINE, request).await {
            Ok(object) => Ok(StoredLease::of(object)),
            Err(error) if error.code() == Some(404) => Ok(StoredLease::default()),
            Err(error) => Err(error),
        }
    }

    /// Writes `record` in place of `base`, or creates a missing Lease. Status 409 if it changed meanwhile.
    pub(crate) async fn replace(&self, base: &StoredLease, record: &LeaseRecord) -> Result<StoredLease, CallError> {
        let data = self.object_of(base, record).to_string().into_bytes();
        let parameters = PostParams { field_manager: Some(self.manager.to_owned()), ..PostParams::default() };
        let request = if base.record.is_some() {
            self.collection().replace(&self.name, &parameters, data)
        } else {
            self.collection().create(&parameters, data)
        };
        let object = client::request(&self.client, LEASE_DEADLINE, request?).await?;
        Ok(StoredLease::of(object))
    }

    fn collection(&self) -> Request {
        Request::new(Lease::url_path(&(), Some(&self.namespace)))
    }

    /// Returns the whole object: the one that was read (version, labels, owners), with the new record.
    fn object_of(&self, base: &StoredLease, record: &LeaseRecord) -> Value {
        let mut object = if base.record.is_some() { base.object.clone() } else { json!({"metadata": {}}) };
        object["apiVersion"] = "coordination.k8s.io/v1".into();
        object["kind"] = "Lease".into();
        object["metadata"]["name"] = self.name.as_str().into();
        object["metadata"]["namespace"] = self.namespace.as_str().into();
        object["metadata"]["annotations"] = json!(record.annotations);
        let acquired = match &base.record {
            Some(before) if before.holder == record.holder => base.object.pointer("/spec/acquireTime").cloned(),
            _ => record.renewed.clone().map(Value::from),
        };
        object["spec"] = json!({
            // kube's own elections also write an empty holder for a released Lease.
            "holderIdentity": record.holder.as_deref().unwrap_or_default(),
            "leaseDurationSeconds": record.duration_seconds,
            "leaseTransitions": record.transitions,
            "renewTime": record.renewed,
            "acquireTime": acquired,
        });
        object
    }
}

/// Reads a Lease once; `None` if there is none.
///
/// # Errors
/// Returns the reason if the API server does not give it.
pub async fn read_lease(client: &kube::Client, namespace: &str, name: &str) -> Result<Option<Value>, CallError> {
    let stored = LeaseStore::new(client.clone(), namespace, name, "").read().await?;
    Ok(stored.record.map(|_| stored.object))
}

impl StoredLease {
    fn of(object: Value) -> Self {
        Self { record: Some(record_of(&object)), object }
    }
}

fn record_of(object: &Value) -> LeaseRecord {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let text = |field: &str| spec.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let number = |field: &str| spec.get(field).and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok());
    let annotations = object.pointer("/metadata/annotations").and_then(Value::as_object);
    let annotations: BTreeMap<_, _> = annotations
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();
    LeaseRecord {
        holder: text("holderIdentity"),
        duration_seconds: number("leaseDurationSeconds"),
        renewed: text("renewTime"),
        transitions: number("leaseTransitions").unwrap_or(0),
        annotations,
    }
}
