//! The conditions of the objects that a request is about.
//!
//! A request needs no right on targets, so their `objects.conditions` is not known here: any object may have a
//! DriftReport, and also a verdict of its own while the place changes. The later verdict counts.

use drift_api::object::LeanObject;
use drift_api::object::report::{SeenReport, report_fields};
use drift_kube::client::ResolvedKind;
use drift_kube::reports::{ListedReports, ReportsUnread, read_report};

use crate::kinds::names::ServedKind;
use crate::kinds::resolved;

/// An object that a command line means.
pub(super) struct MeantObject {
    pub(super) kind: ServedKind,
    /// With the conditions of its report, if it has one.
    pub(super) object: LeanObject,
    /// The reason why it is unknown if it has a report.
    pub(super) unread: Option<String>,
}

/// Reads the reports of objects in one namespace: that of a single object, or one list for several.
pub(super) async fn with_reports(client: &kube::Client, objects: Vec<(ServedKind, LeanObject)>) -> Vec<MeantObject> {
    let lacking = objects.iter().filter(|(kind, _)| kind.is_namespaced);
    let (count, namespace) =
        (lacking.clone().count(), lacking.clone().find_map(|(_, object)| object.id.namespace.clone()));
    let listed = match namespace {
        Some(namespace) if count > 1 => Some(ListedReports::list(client, &[namespace.to_string()]).await),
        _ => None,
    };
    let mut meant = Vec::new();
    for (kind, object) in objects {
        let resolved = resolved(&kind);
        let read = match &listed {
            _ if !resolved.namespaced => Ok(object.clone()),
            Some(Ok(reports)) => {
                let found = reports.find(&resolved, &object.id).cloned();
                Ok(later(&object, attached(&object, found)))
            }
            // A cluster without the kind has no reports.
            Some(Err(ReportsUnread::NotInstalled)) => Ok(object.clone()),
            Some(Err(unread)) => Err(unread.to_string()),
            None => read_with_report(client, &resolved, &object).await.map(|found| later(&object, found)),
        };
        let has_verdict = object.conditions.observed().is_some();
        let (object, unread) = match read {
            Ok(object) => (object, None),
            Err(_) if has_verdict => (object, None),
            Err(unread) => (object, Some(unread)),
        };
        meant.push(MeantObject { kind, object, unread });
    }
    meant
}

/// Reads the report of an object. Returns the object with its conditions. `None` if it has none.
///
/// # Errors
/// A sentence, if it is unknown if there is a report.
pub(super) async fn read_with_report(
    client: &kube::Client,
    kind: &ResolvedKind,
    object: &LeanObject,
) -> Result<Option<LeanObject>, String> {
    let found = match read_report(client, kind, &object.id).await {
        // A cluster without the kind has no reports.
        Err(ReportsUnread::NotInstalled) => None,
        read => read.map_err(|unread| unread.to_string())?,
    };
    let seen = found.map(|report| SeenReport::of(LeanObject::prune(&report, &report_fields())));
    Ok(attached(object, seen))
}

/// Returns the object with the conditions of a report, if the report is its.
fn attached(object: &LeanObject, found: Option<SeenReport>) -> Option<LeanObject> {
    let report = found.filter(|report| report.state.about(&object.id.uid).is_some())?;
    Some(object.clone().with_report(report))
}

/// Returns the object, or the same with its report, by the later verdict.
fn later(object: &LeanObject, reported: Option<LeanObject>) -> LeanObject {
    let is_later = |reported: &LeanObject| match (object.conditions.observed(), reported.conditions.observed()) {
        (Some(own), Some(of_report)) => of_report.last_transition_time.is_later_than(&own.last_transition_time),
        (Some(_), None) => false,
        (None, _) => true,
    };
    reported.filter(is_later).unwrap_or_else(|| object.clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::json;

    #[test]
    fn the_later_verdict_of_both_places_counts() {
        let conditions = |time: Option<&str>| {
            let condition = |time: &str| json!({"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "message": "m", "lastTransitionTime": time});
            json!(time.map(condition).into_iter().collect::<Vec<_>>())
        };
        let (early, late) = (Some("2026-01-01T00:00:00Z"), Some("2026-01-02T00:00:00Z"));
        for (own, of_report, is_report) in
            [(early, late, true), (late, early, false), (None, early, true), (early, None, false), (None, None, true)]
        {
            let object = json!({"metadata": {"uid": "u", "name": "o"}, "status": {"conditions": conditions(own)}});
            let object = LeanObject::prune(&object, &FieldPaths::default());
            let report = json!({"metadata": {"uid": "r", "resourceVersion": "7"}, "object": {"uid": "u"},
                "status": {"conditions": conditions(of_report)}});
            let seen = SeenReport::of(LeanObject::prune(&report, &report_fields()));
            let chosen = later(&object, attached(&object, Some(seen)));
            assert_eq!(chosen.report.is_some(), is_report, "{own:?} {of_report:?}");
        }
        let foreign = json!({"metadata": {"uid": "r", "resourceVersion": "7"}, "object": {"uid": "former"}});
        let object = LeanObject::prune(&json!({"metadata": {"uid": "u"}}), &FieldPaths::default());
        assert!(attached(&object, Some(SeenReport::of(LeanObject::prune(&foreign, &report_fields())))).is_none());
    }
}
