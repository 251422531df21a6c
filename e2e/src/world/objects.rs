//! Reads and writes objects as an administrator, like users and other controllers.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use drift_api::names;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, core::GroupVersionKind};
use serde_json::{Value, json};

use super::{World, history};
use crate::wait::{self, Seen};

/// The field manager of a test's own writes.
const MANAGER: &str = "e2e-test";

impl World {
    /// Returns the API of a kind. `namespace` is `None` for cluster-scoped kinds.
    pub fn api(&self, api_version: &str, kind: &str, namespace: Option<&str>) -> Result<Api<DynamicObject>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Ok(match namespace {
            Some(namespace) => Api::namespaced_with(self.client(), namespace, &resource),
            None => Api::all_with(self.client(), &resource),
        })
    }

    /// Returns the API of this world's Proxy objects.
    #[must_use]
    pub fn proxies(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(self.group(), "v1", "Proxy");
        Api::namespaced_with(self.client(), &self.objects, &ApiResource::from_gvk(&kind))
    }

    /// Server-side applies any document (its own `metadata.namespace` counts), like `kubectl apply --server-side`.
    pub async fn apply(&self, document: &Value) -> Result<Value> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &document["metadata"];
        let kind = text(&document["kind"]).context("a document without a kind")?;
        let name = text(&metadata["name"]).context("a document without a name")?;
        let version = text(&document["apiVersion"]).context("a document without an apiVersion")?;
        let api = self.api(&version, &kind, metadata["namespace"].as_str())?;
        let parameters = PatchParams::apply(MANAGER).force();
        let applied = api.patch(&name, &parameters, &Patch::Apply(document)).await;
        Ok(serde_json::to_value(applied.with_context(|| format!("applying {kind} {name}"))?)?)
    }

    /// Creates a Proxy with this spec.
    pub async fn create_proxy(&self, name: &str, spec: Value) -> Result<Value> {
        self.create_proxy_with(name, json!({}), spec).await
    }

    /// Creates a Proxy that works on any toxiproxy: a free address that forwards to `127.0.0.1:9`.
    pub async fn create_some_proxy(&self, name: &str) -> Result<Value> {
        self.create_proxy(name, json!({"listen": self.free_listen_address()?, "upstream": "127.0.0.1:9"})).await
    }

    /// Creates a Proxy with further metadata, such as `{"annotations": {…}}`.
    pub async fn create_proxy_with(&self, name: &str, mut metadata: Value, spec: Value) -> Result<Value> {
        metadata["name"] = json!(name);
        metadata["namespace"] = json!(self.objects);
        let version = format!("{}/v1", self.group());
        let document = json!({"apiVersion": version, "kind": "Proxy", "metadata": metadata, "spec": spec});
        let object = serde_json::from_value(document)?;
        let created = self.proxies().create(&PostParams::default(), &object).await;
        Ok(serde_json::to_value(created.with_context(|| format!("creating the Proxy {name}"))?)?)
    }

    /// Returns the current Proxy, or `None` without one.
    pub async fn proxy(&self, name: &str) -> Result<Option<Value>> {
        let object = self.proxies().get_opt(name).await?;
        Ok(object.map(serde_json::to_value).transpose()?)
    }

    /// Returns all Proxies of this world.
    pub async fn all_proxies(&self) -> Result<Vec<Value>> {
        let list = self.proxies().list(&ListParams::default()).await?;
        Ok(list.items.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
    }

    /// Applies a merge patch to a Proxy: `{"spec": {…}}`, `{"metadata": {"annotations": {…}}}`.
    pub async fn patch_proxy(&self, name: &str, patch: Value) -> Result<Value> {
        let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let patched = self.proxies().patch(name, &parameters, &Patch::Merge(patch)).await;
        Ok(serde_json::to_value(patched.with_context(|| format!("patching the Proxy {name}"))?)?)
    }

    /// Requests a poll of a Proxy, as a user can. Needed if regular polls are a day apart.
    pub async fn ask_for_poll(&self, name: &str) -> Result<()> {
        static ASKED: AtomicU64 = AtomicU64::new(1);
        let asked = ASKED.fetch_add(1, Ordering::Relaxed).to_string();
        let annotations = json!({names::POLL_REQUESTED_ANNOTATION: asked});
        self.patch_proxy(name, json!({"metadata": {"annotations": annotations}})).await.map(drop)
    }

    /// Applies a merge patch to a Proxy's status, as another controller does.
    pub async fn patch_proxy_status(&self, name: &str, patch: Value) -> Result<Value> {
        let parameters = PatchParams { field_manager: Some("e2e-other".to_owned()), ..PatchParams::default() };
        let patched = self.proxies().patch_status(name, &parameters, &Patch::Merge(patch)).await;
        Ok(serde_json::to_value(patched.with_context(|| format!("patching the status of {name}"))?)?)
    }

    /// Requests a Proxy's deletion. A finalizer may delay it. See [`World::wait_until_gone`].
    pub async fn delete_proxy(&self, name: &str) -> Result<()> {
        let deleted = self.proxies().delete(name, &DeleteParams::default()).await;
        deleted.map(drop).with_context(|| format!("deleting the Proxy {name}"))
    }

    /// Returns a Lease of the programs, `drift-poller` or `drift-controller`, or `None` without one.
    pub async fn lease(&self, name: &str) -> Result<Option<Value>> {
        let leases = self.api("coordination.k8s.io/v1", "Lease", Some(&self.names.programs))?;
        Ok(leases.get_opt(name).await?.map(serde_json::to_value).transpose()?)
    }

    /// Deletes a Lease of the programs.
    pub async fn delete_lease(&self, name: &str) -> Result<()> {
        let leases = self.api("coordination.k8s.io/v1", "Lease", Some(&self.names.programs))?;
        leases
            .delete(name, &DeleteParams::default())
            .await
            .map(drop)
            .with_context(|| format!("deleting the Lease {name}"))
    }

    /// Clears a Lease whose holder is known to be dead, as an administrator can do instead of waiting.
    pub async fn clear_lease(&self, name: &str) -> Result<()> {
        let leases = self.api("coordination.k8s.io/v1", "Lease", Some(&self.names.programs))?;
        let patch = Patch::Merge(json!({"spec": {"holderIdentity": null}}));
        let cleared = leases.patch(name, &PatchParams::default(), &patch).await;
        cleared.map(drop).with_context(|| format!("clearing the Lease {name}"))
    }

    /// Returns all Events (events.k8s.io) in this world's two namespaces.
    pub async fn events(&self) -> Result<Vec<Value>> {
        let mut events = Vec::new();
        for namespace in [&self.names.programs, &self.objects] {
            let list = self.api("events.k8s.io/v1", "Event", Some(namespace))?.list(&ListParams::default()).await?;
            for event in list.items {
                events.push(serde_json::to_value(event)?);
            }
        }
        Ok(events)
    }

    /// Waits for an Event with this reason about an object of this name. The error lists the existing Events.
    pub async fn wait_for_event(&self, reason: &str, about: &str) -> Result<Value> {
        wait::until(format!("an Event {reason} about {about}"), wait::DEADLINE, async || {
            let events = self.events().await?;
            let found = events.iter().find(|event| event["reason"] == reason && event["regarding"]["name"] == about);
            Ok(found.map_or_else(
                || Seen::Instead(events.iter().map(history::yaml).collect()),
                |event| Seen::Met(event.clone()),
            ))
        })
        .await
    }
}
