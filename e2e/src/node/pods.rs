//! The programs' Pods as kubectl shows them.

use anyhow::{Context, Result};
use serde_json::Value;

use super::Installation;
use crate::manifests;
use crate::programs::Which;
use crate::wait::{self, Seen};

/// A Pod of one of the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Name of the Pod.
    pub name: String,
    /// Its unique identifier.
    pub uid: String,
    /// True if its readiness probe succeeds.
    pub ready: bool,
    /// True if it is being deleted.
    pub deleting: bool,
    /// Number of restarts of its container.
    pub restarts: u64,
}

impl Pod {
    fn parse(pod: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let container = &pod["status"]["containerStatuses"][0];
        Some(Self {
            name: text(&pod["metadata"]["name"])?,
            uid: text(&pod["metadata"]["uid"])?,
            ready: container["ready"] == true,
            deleting: !pod["metadata"]["deletionTimestamp"].is_null(),
            restarts: container["restartCount"].as_u64().unwrap_or_default(),
        })
    }
}

impl Installation {
    /// Returns all Pods of a program, including those that are being deleted.
    pub async fn pods(&self, which: Which) -> Result<Vec<Pod>> {
        let label = format!("app.kubernetes.io/name={}", which.name());
        let arguments = ["get", "pods", "-n", manifests::NAMESPACE, "-l", &label, "-o", "json"];
        let list: Value = serde_json::from_str(&self.kubectl().run(&arguments).await?.output)?;
        Ok(list["items"].as_array().into_iter().flatten().filter_map(Pod::parse).collect())
    }

    /// Waits until exactly one Pod of the program is left and ready.
    pub async fn wait_for_pod(&self, which: Which) -> Result<Pod> {
        let what = format!("one ready Pod of {}", which.name());
        wait::until(what, wait::DEADLINE * 2, async || {
            let pods = self.pods(which).await?;
            Ok(match pods.as_slice() {
                [pod] if pod.ready && !pod.deleting => Seen::Met(pod.clone()),
                _ => Seen::Instead(format!("{pods:?}")),
            })
        })
        .await
    }

    /// Runs `kubectl delete pod` with further arguments. Does not wait until the Pod is gone.
    pub async fn delete_pod(&self, which: Which, arguments: &[&str]) -> Result<()> {
        let pods = self.pods(which).await?;
        let pod = pods.iter().find(|pod| !pod.deleting).with_context(|| format!("no Pod to delete: {pods:?}"))?;
        let fixed = ["delete", "pod", "-n", manifests::NAMESPACE, &pod.name, "--wait=false"];
        self.kubectl().run(&[&fixed, arguments].concat()).await.map(drop)
    }
}
