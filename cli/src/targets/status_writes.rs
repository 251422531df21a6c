//! The last write of each program on an object's status, and that of the annotation that pauses it, by the API server's
//! record of field managers. A condition's
//! `lastTransitionTime` stays when its message changes, as it does with each further correction.

use drift_api::condition::ConditionKind;
use drift_api::names::{CONTROLLER_MANAGER, PAUSED_ANNOTATION, POLLER_MANAGER};
use serde_json::Value;

/// The times of the last writes, RFC 3339; `None` if there was none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StatusWrites {
    observed: Option<String>,
    corrected: Option<String>,
    paused: Option<AnnotationWrite>,
}

/// The last write of an annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnnotationWrite {
    /// The field manager: a program, such as `kubectl-drift` or `kubectl-annotate`. The API server keeps no user.
    pub(crate) manager: String,
    /// RFC 3339.
    pub(crate) time: String,
}

impl AnnotationWrite {
    fn of(object: &Value, annotation: &str) -> Option<Self> {
        object.pointer("/metadata/annotations")?.get(annotation)?;
        let entries = object.pointer("/metadata/managedFields")?.as_array()?;
        let field = format!("f:{annotation}");
        let writes =
            entries.iter().filter(|entry| entry["fieldsV1"]["f:metadata"]["f:annotations"].get(&field).is_some());
        let write = |entry: &Value| {
            let (manager, time) = (entry["manager"].as_str()?, entry["time"].as_str()?);
            Some(Self { manager: manager.to_owned(), time: time.to_owned() })
        };
        writes.filter_map(write).max_by(|one, other| one.time.cmp(&other.time))
    }
}

impl StatusWrites {
    /// Reads them from a whole object.
    pub(crate) fn of(object: &Value) -> Self {
        Self { paused: AnnotationWrite::of(object, PAUSED_ANNOTATION), ..Self::on(object, "status") }
    }

    /// The same with the conditions in a report, which are written there.
    pub(crate) fn with_conditions_in(self, report: &Value) -> Self {
        Self { paused: self.paused, ..Self::of_report(report) }
    }

    /// Returns the last write of the annotation that pauses the object.
    pub(crate) const fn pause(&self) -> Option<&AnnotationWrite> {
        self.paused.as_ref()
    }

    /// Reads them from a whole DriftReport, which has no subresource.
    fn of_report(report: &Value) -> Self {
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
        Self { observed: of(POLLER_MANAGER), corrected: of(CONTROLLER_MANAGER), paused: None }
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

    #[test]
    fn the_last_write_of_a_pause_is_found() {
        let entry = |manager: &str, annotation: &str, time: &str| {
            let annotation = format!("f:{annotation}");
            json!({"manager": manager, "time": time, "fieldsV1": {"f:metadata": {"f:annotations": {annotation: {}}}}})
        };
        let entries = json!([
            entry("kubectl-drift", PAUSED_ANNOTATION, "2026-01-01T00:00:00Z"),
            entry("kubectl-annotate", PAUSED_ANNOTATION, "2026-01-01T00:02:00Z"),
            entry("flux", "other", "2026-01-01T00:03:00Z"),
        ]);
        let paused = |annotations: Value| json!({"metadata": {"annotations": annotations, "managedFields": entries}});
        let object = paused(json!({PAUSED_ANNOTATION: "a move"}));
        let expected =
            AnnotationWrite { manager: "kubectl-annotate".to_owned(), time: "2026-01-01T00:02:00Z".to_owned() };
        assert_eq!(StatusWrites::of(&object).pause(), Some(&expected));
        assert_eq!(StatusWrites::of(&object).with_conditions_in(&json!({})).pause(), Some(&expected));
        assert_eq!(StatusWrites::of(&paused(json!({}))).pause(), None, "it was resumed");
    }
}
