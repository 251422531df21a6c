//! Hundreds of objects at once: created together and counted.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use drift_api::names;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};

use super::{Target, World, history};
use crate::programs::Which;
use crate::wait::{self, Seen};

/// Number of concurrent creations, which wait for etcd rather than for a core.
const CREATED_AT_ONCE: usize = 16;

/// Counts the objects by the `status/reason` of a condition, or by `-` without one.
#[must_use]
pub fn count_verdicts(objects: &[Value], kind: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for object in objects {
        *counts.entry(history::describe(object, kind)).or_default() += 1;
    }
    counts
}

impl Target {
    /// Returns the shipped target for [documents](crate::systems::outside::Documents) at `url`. Create and update put
    /// the whole document. Nothing is deleted, so objects have no finalizer.
    pub fn of_documents(world: &World, url: &str) -> Result<Self> {
        let address = format!("{url}/proxies/${{self.metadata.name}}");
        let put = json!([{"method": "PUT", "url": address, "body": "${desired}", "accept": [200, 201]}]);
        Ok(Self::shipped(world, url)?
            .with("/spec/correct/http/create", put.clone())
            .with("/spec/correct/http/update", put)
            .without("/spec/correct/http/delete"))
    }
}

impl World {
    /// Creates Proxies with these names and this metadata. `spec` returns the spec of each.
    pub async fn create_proxies(&self, names: &[String], metadata: &Value, spec: impl Fn(&str) -> Value) -> Result<()> {
        let creations = names.iter().map(|name| self.create_proxy_with(name, metadata.clone(), spec(name)));
        futures::stream::iter(creations).buffer_unordered(CREATED_AT_ONCE).try_for_each(|_| async { Ok(()) }).await
    }

    /// Returns how many times the poller wrote the status of each Proxy so far, by name.
    pub async fn verdicts_written(&self) -> Result<BTreeMap<String, usize>> {
        let mut written = BTreeMap::new();
        for record in self.all_writes_by(Which::Poller).await? {
            if record.subresource == "status" && record.accepted() {
                *written.entry(record.name).or_default() += 1;
            }
        }
        Ok(written)
    }

    /// Waits until exactly `count` Proxies have this `status/reason` as the poller's verdict. On timeout the error
    /// shows the actual verdicts.
    pub async fn wait_for_verdicts(&self, count: usize, verdict: &str, deadline: Duration) -> Result<Vec<Value>> {
        wait::until(format!("{count} objects with the verdict {verdict}"), deadline, async || {
            let objects = self.all_proxies().await?;
            let counts = count_verdicts(&objects, names::DRIFT_OBSERVED);
            let met = counts.get(verdict).copied().unwrap_or_default() == count;
            Ok(if met { Seen::Met(objects) } else { Seen::Instead(format!("{counts:?}")) })
        })
        .await
    }
}
