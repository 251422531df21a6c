//! Waits for the verdicts on objects, and checks that they stay.

use std::time::Duration;

use anyhow::{Context, Result};
use drift_api::names;
use serde_json::Value;

use super::{World, history};
use crate::wait::{self, Seen};

impl World {
    /// Waits until a Proxy satisfies `wanted`, which `what` describes. On timeout the error shows the object.
    pub async fn wait_for_proxy(&self, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        wait::until(format!("the Proxy {name}: {what}"), wait::DEADLINE, async || {
            let Some(object) = self.proxy(name).await? else {
                return Ok(Seen::Instead("no such object".to_owned()));
            };
            Ok(if wanted(&object) { Seen::Met(object) } else { Seen::Instead(history::yaml(&object)) })
        })
        .await
    }

    /// Waits until the poller's verdict on a Proxy has this status and reason at the object's current generation.
    ///
    /// A verdict that is healed at once lasts only milliseconds. [`World::watch_object`] shows it.
    pub async fn wait_for_verdict(&self, name: &str, status: &str, reason: &str) -> Result<Value> {
        self.wait_for_condition(name, names::DRIFT_OBSERVED, status, reason).await
    }

    /// Waits until the last correction of a Proxy is verified: a poll that began after it reports InSync. Before that,
    /// one more write follows, which a count of writes would include.
    pub async fn wait_until_verified(&self, name: &str) -> Result<Value> {
        self.wait_for_proxy(name, "its last correction is verified", super::is_verified).await
    }

    /// Waits for the controller's note, `driftCorrected`, in the same way.
    pub async fn wait_for_note(&self, name: &str, status: &str, reason: &str) -> Result<Value> {
        self.wait_for_condition(name, names::DRIFT_CORRECTED, status, reason).await
    }

    /// Waits until a Proxy is in sync and its first `corrections` corrections are verified. Before that, a poll is due
    /// and its result may be written at any moment.
    pub async fn wait_until_healed_by(&self, name: &str, corrections: u64) -> Result<Value> {
        let wanted = |object: &Value| {
            history::describe(object, names::DRIFT_OBSERVED) == "False/InSync"
                && super::tag(object).correction == corrections
        };
        self.wait_for_proxy(name, &format!("in sync, correction {corrections} verified"), wanted).await
    }

    async fn wait_for_condition(&self, name: &str, kind: &str, status: &str, reason: &str) -> Result<Value> {
        let wanted = |object: &Value| {
            history::condition(object, kind).is_some_and(|found| {
                found["status"] == status
                    && found["reason"] == reason
                    && found["observedGeneration"] == object["metadata"]["generation"]
            })
        };
        self.wait_for_proxy(name, &format!("{kind} {status}/{reason} at its generation"), wanted).await
    }

    /// Waits until a Proxy no longer exists. On timeout the error shows the object.
    pub async fn wait_until_gone(&self, name: &str) -> Result<()> {
        wait::until(format!("the Proxy {name} to be gone"), wait::DEADLINE, async || {
            let object = self.proxy(name).await?;
            Ok(object.map_or(Seen::Met(()), |object| Seen::Instead(history::yaml(&object))))
        })
        .await
    }

    /// Fails as soon as a Proxy stops satisfying `wanted` within `span`. The error shows the object.
    pub async fn proxy_stays(
        &self,
        name: &str,
        what: &str,
        span: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        wait::throughout(format!("the Proxy {name}: {what}"), span, async || {
            let object = self.proxy(name).await?.context("no such object")?;
            Ok(if wanted(&object) { Seen::Met(()) } else { Seen::Instead(history::yaml(&object)) })
        })
        .await
    }
}
