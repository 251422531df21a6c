//! Fixtures for tests: a target, objects of its kind, moments, and the condition that a patch writes.

use std::time::Duration;

use drift_api::condition::{Condition, ConditionKind};
use drift_api::timing::moment::Moment;
pub(crate) use drift_language::fixtures::proxies::{TEXT, object, ruled, target};

use json_patch::Patch;
use serde_json::json;

use crate::engine::schedule::Now;

pub(crate) fn at(seconds: u64) -> Now {
    let span = Duration::from_secs(seconds);
    Now { moment: Moment::from_start(span), wall: Duration::from_secs(1_700_000_000) + span }
}

/// The condition `driftObserved` that a patch writes.
pub(crate) fn condition_in(patch: &Patch) -> Condition {
    let operations = json!(patch);
    let mut values = operations.as_array().into_iter().flatten().map(|operation| &operation["value"]);
    let written = values.rfind(|value| value["type"] == "driftObserved");
    Condition::from_json(ConditionKind::Observed, written.unwrap_or(&json!(null)))
}
