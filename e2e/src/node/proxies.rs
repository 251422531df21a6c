//! Creates, reads and awaits Proxy objects on an installation.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::Installation;
use crate::manifests::{self, OBJECTS_NAMESPACE};
use crate::wait::{self, Seen};
use crate::world::{condition, describe};

impl Installation {
    /// Runs `kubectl apply` with Proxy objects whose external proxies do not listen.
    pub async fn create_proxies(&self, names: &[String]) -> Result<()> {
        let items: Vec<Value> = names.iter().map(|name| Self::proxy(name)).collect();
        self.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items})).await
    }

    fn proxy(name: &str) -> Value {
        json!({
            "apiVersion": format!("{}/v1", manifests::GROUP),
            "kind": "Proxy",
            "metadata": {"name": name, "namespace": OBJECTS_NAMESPACE},
            "spec": {"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9", "enabled": false},
        })
    }

    /// Returns an object from `kubectl get -o yaml`.
    pub async fn get(&self, name: &str) -> Result<Value> {
        let arguments = ["get", "proxy", name, "-n", OBJECTS_NAMESPACE, "-o", "yaml"];
        let printed = self.kubectl().run(&arguments).await?;
        Ok(serde_saphyr::from_str(&printed.output)?)
    }

    /// Waits until `kubectl get -o yaml` shows this verdict. Returns the elapsed time.
    pub async fn wait_for_verdict(&self, name: &str, status: &str, reason: &str) -> Result<Duration> {
        let began = Instant::now();
        wait::until(format!("{name} to be {status}/{reason}"), wait::DEADLINE * 2, async || {
            let object = self.get(name).await?;
            let verdict = condition(&object, "driftObserved");
            let met = verdict.is_some_and(|entry| entry["status"] == status && entry["reason"] == reason);
            let seen = ["driftObserved", "driftCorrected"].map(|kind| describe(&object, kind));
            Ok(if met { Seen::Met(()) } else { Seen::Instead(seen.join(", ")) })
        })
        .await?;
        Ok(began.elapsed())
    }

    /// Waits until the current correction is verified, after which no further write follows. Returns its number.
    pub async fn wait_until_verified(&self, name: &str) -> Result<u64> {
        wait::until(format!("{name} to be verified"), wait::DEADLINE * 2, async || {
            let object = self.get(name).await?;
            let text = |kind| condition(&object, kind).and_then(|entry| entry["message"].as_str()).unwrap_or_default();
            let (verdict, note) = (text("driftObserved"), text("driftCorrected"));
            let number = note.strip_prefix("correction ").and_then(|rest| rest.split([',', ':']).next()?.parse().ok());
            let in_sync = describe(&object, "driftObserved") == "False/InSync";
            let verified = number.filter(|number| in_sync && verdict.contains(&format!("correction {number}]")));
            Ok(verified.map_or_else(|| Seen::Instead(format!("{verdict} {note}")), Seen::Met))
        })
        .await
    }

    /// Returns the longest time between two polls of each object, from `since` until now.
    #[must_use]
    pub fn gaps_since(&self, since: Instant) -> BTreeMap<String, Duration> {
        let mut polls: BTreeMap<String, Vec<Instant>> = BTreeMap::new();
        for request in self.outside().requests() {
            let name = request.path.strip_prefix("/proxies/");
            if let Some(name) = name.filter(|_| request.method == "GET" && request.at >= since) {
                polls.entry(name.to_owned()).or_default().push(request.at);
            }
        }
        let now = Instant::now();
        let longest = |times: Vec<Instant>| {
            let ends = times.iter().copied().skip(1).chain([now]);
            times.iter().zip(ends).map(|(one, next)| next - *one).max().unwrap_or_default()
        };
        polls.into_iter().map(|(name, times)| (name, longest(times))).collect()
    }
}
