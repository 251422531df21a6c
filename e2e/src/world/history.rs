//! The history of an object since a moment: each version that the API server published, recorded by a watch.
//!
//! Occasional reads miss states that last milliseconds. A live watch does not. The API server ends each watch after
//! some minutes, and the next one continues from there.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use futures::{Stream, StreamExt as _};
use kube::Api;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use serde_json::Value;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;

use super::World;
use crate::wait::{self, Seen};

/// The versions of one object, recorded until this is dropped.
#[derive(Debug)]
pub struct History {
    name: String,
    api: Api<DynamicObject>,
    versions: Arc<Mutex<Vec<Value>>>,
    task: JoinHandle<()>,
}

/// Returns the entry of an object's `status.conditions` with this type.
#[must_use]
pub fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|entry| entry["type"] == kind)
}

/// Returns `status/reason` of a condition, or `-` without one. Short enough for lists.
#[must_use]
pub fn describe(object: &Value, kind: &str) -> String {
    let Some(entry) = condition(object, kind) else {
        return "-".to_owned();
    };
    format!("{}/{}", entry["status"].as_str().unwrap_or("?"), entry["reason"].as_str().unwrap_or("?"))
}

/// Returns an object as readable YAML, without managed fields.
#[must_use]
pub fn yaml(object: &Value) -> String {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    serde_saphyr::to_string(&object).unwrap_or_else(|_| object.to_string())
}

impl World {
    /// Starts to record a Proxy, which may not exist yet. The watch is active on return, so no later change is missed.
    pub async fn watch_object(&self, name: &str) -> Result<History> {
        History::of(self.proxies(), name).await
    }
}

impl History {
    /// Starts to record an object of any kind.
    pub async fn of(api: Api<DynamicObject>, name: &str) -> Result<Self> {
        let selector = format!("metadata.name={name}");
        let list = api.list(&ListParams::default().fields(&selector)).await?;
        let from = list.metadata.resource_version.clone().context("a list without a resourceVersion")?;
        let first: Vec<Value> = list.items.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        let versions = Arc::new(Mutex::new(first));
        let (began, has_begun) = oneshot::channel();
        let sink = versions.clone();
        let watched = api.clone();
        let task = tokio::spawn(async move {
            let parameters = WatchParams::default().fields(&selector);
            let stream = watched.watch(&parameters, &from).await;
            let _ = began.send(stream.as_ref().map(drop).map_err(ToString::to_string));
            let (mut stream, mut from) = (stream, from);
            while let Ok(events) = stream {
                let Some(reached) = record_all(&sink, events, from).await else { return };
                from = reached;
                stream = watched.watch(&parameters, &from).await;
            }
        });
        has_begun.await?.map_err(anyhow::Error::msg).context("beginning a watch")?;
        Ok(Self { name: name.to_owned(), api, versions, task })
    }

    /// Returns all versions, from the one at the start to the one that a read returns now. A watch lags behind reads.
    ///
    /// # Errors
    /// The watch has broken off, so versions may be missing.
    pub async fn versions(&self) -> Result<Vec<Value>> {
        let now = self.api.get_metadata_opt(&self.name).await?.and_then(|object| object.metadata.resource_version);
        wait::until(format!("the watch to show {} as it is", self.name), wait::DEADLINE, async || {
            ensure!(!self.task.is_finished(), "the watch of {} broke off", self.name);
            let versions = self.versions.lock().await.clone();
            let is_there =
                |version: &String| versions.iter().any(|seen| seen["metadata"]["resourceVersion"] == **version);
            let shows_it = now.as_ref().is_none_or(is_there);
            Ok(if shows_it { Seen::Met(versions) } else { Seen::Instead(format!("no version {now:?}")) })
        })
        .await
    }

    /// Returns the (status, reason) pairs of a condition over time, without repetitions.
    pub async fn transitions(&self, kind: &str) -> Result<Vec<String>> {
        let mut all: Vec<String> = self.versions().await?.iter().map(|object| describe(object, kind)).collect();
        all.dedup();
        Ok(all)
    }

    /// Waits for the first version that satisfies `wanted` and returns it, even if it was short-lived. On timeout the
    /// error shows the latest version.
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        wait::until(format!("{} to have been once: {what}", self.name), wait::DEADLINE, async || {
            let versions = self.versions().await?;
            let last = versions.last().map_or_else(|| "no version at all".to_owned(), yaml);
            Ok(versions.into_iter().find(|object| wanted(object)).map_or(Seen::Instead(last), Seen::Met))
        })
        .await
    }

    /// Waits until a condition has had these (status, reason) pairs in this order. Other pairs in between are allowed.
    /// On timeout the error lists the actual pairs.
    pub async fn wait_for_transitions(&self, kind: &str, wanted: &[(&str, &str)]) -> Result<()> {
        let wanted: Vec<String> = wanted.iter().map(|(status, reason)| format!("{status}/{reason}")).collect();
        let what = format!("{} to go through {kind} {}", self.name, wanted.join(" → "));
        wait::until(what, wait::DEADLINE, async || {
            let seen = self.transitions(kind).await?;
            let mut rest = seen.iter();
            let all = wanted.iter().all(|one| rest.any(|each| each == one));
            Ok(if all { Seen::Met(()) } else { Seen::Instead(seen.join(" → ")) })
        })
        .await
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Records a watch to its end. Returns the version up to which the record is complete, or `None` if it broke off.
async fn record_all(
    sink: &Mutex<Vec<Value>>,
    events: impl Stream<Item = kube::Result<WatchEvent<DynamicObject>>>,
    mut reached: String,
) -> Option<String> {
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        let version = match event {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object)) => {
                let version = object.metadata.resource_version.clone();
                sink.lock().await.push(serde_json::to_value(object).ok()?);
                version
            }
            Ok(WatchEvent::Bookmark(bookmark)) => Some(bookmark.metadata.resource_version),
            Ok(WatchEvent::Error(_)) | Err(_) => return None,
        };
        reached = version.unwrap_or(reached);
    }
    Some(reached)
}
