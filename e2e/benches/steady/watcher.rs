//! Watches the objects like a client, and records when a condition of each first has a status.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, condition};
use futures::TryStreamExt as _;
use kube::api::{ListParams, WatchEvent, WatchParams};
use tokio::task::JoinHandle;

/// Objects whose condition has a status, with the time of the first observation.
#[derive(Debug)]
pub(crate) struct Watcher {
    seen: Arc<Mutex<HashMap<String, Instant>>>,
    task: JoinHandle<()>,
}

impl Watcher {
    /// Starts to watch for this status of a condition.
    pub(crate) async fn of(world: &World, kind: &'static str, status: &'static str) -> Result<Self> {
        let proxies = world.proxies();
        let list = proxies.list_metadata(&ListParams::default().limit(1)).await?;
        let version = list.metadata.resource_version.unwrap_or_default();
        let mut events = Box::pin(proxies.watch(&WatchParams::default(), &version).await?);
        let seen: Arc<Mutex<HashMap<String, Instant>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok(Some(event)) = events.try_next().await {
                let WatchEvent::Modified(object) = event else { continue };
                let now = Instant::now();
                let Ok(value) = serde_json::to_value(&object) else { continue };
                if condition(&value, kind).is_some_and(|found| found["status"] == status) {
                    let name = object.metadata.name.unwrap_or_default();
                    noted.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_insert(now);
                }
            }
        });
        Ok(Self { seen, task })
    }

    /// Waits until this many objects were seen. Returns the times.
    pub(crate) async fn wait_for(self, count: usize, deadline: Duration) -> Result<HashMap<String, Instant>> {
        wait::until(format!("{count} objects seen by a watch"), deadline, async || {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(if seen.len() >= count { Seen::Met(seen.clone()) } else { Seen::Instead(seen.len().to_string()) })
        })
        .await
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}
