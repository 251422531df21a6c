//! The last write of each program on an object's status, by the API server's record of field managers. A condition's
//! `lastTransitionTime` stays when its message changes, as it does with each further correction.

use drift_api::condition::ConditionKind;
use drift_api::names::{CONTROLLER_MANAGER, POLLER_MANAGER};
use serde_json::Value;

/// The times of the last writes, RFC 3339; `None` if there was none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatusWrites {
    observed: Option<String>,
    corrected: Option<String>,
}

impl StatusWrites {
    /// Reads them from a whole object.
    pub(crate) fn of(object: &Value) -> Self {
        Self::on(object, "status")
    }

    /// Reads them from a whole DriftReport, which has no subresource.
    pub(crate) fn of_report(report: &Value) -> Self {
        Self::on(report, "")
    }

    fn on(object: &Value, subresource: &str) -> Self {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let of = |manager: &str| {
            let is_there = |entry: &Value| entry["subresource"].as_str().unwrap_or_default() == subresource;
            let is_of = |entry: &&Value| entry["manager"] == manager && is_there(entry);
            let times = entries.into_iter().flatten().filter(is_of).filter_map(|entry| entry["time"].as_str());
            times.max().map(str::to_owned)
        };
        Self { observed: of(POLLER_MANAGER), corrected: of(CONTROLLER_MANAGER) }
    }

    /// Returns the last write of the program that owns this condition.
    pub(crate) fn of_condition(&self, kind: ConditionKind) -> Option<&str> {
        match kind {
            ConditionKind::Corrected => self.corrected.as_deref(),
            _ => self.observed.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_write_of_each_program_is_found() {
        let entry = |manager: &str, subresource: &str, time: &str| json!({"manager": manager, "subresource": subresource, "time": time});
        let object = json!({"metadata": {"managedFields": [
            entry("drift-controller", "", "2026-01-01T09:00:00Z"),
            entry("drift-controller", "status", "2026-01-01T00:00:00Z"),
            entry("drift-controller", "status", "2026-01-01T00:02:00Z"),
            entry("kubectl", "status", "2026-01-01T10:00:00Z"),
        ]}});
        let written = StatusWrites::of(&object);
        assert_eq!(written.of_condition(ConditionKind::Corrected), Some("2026-01-01T00:02:00Z"));
        assert_eq!(written.of_condition(ConditionKind::Observed), None);
        assert_eq!(StatusWrites::of(&json!({})), StatusWrites::default());
        let written = StatusWrites::of_report(&object);
        assert_eq!(written.of_condition(ConditionKind::Corrected), Some("2026-01-01T09:00:00Z"));
    }
}
