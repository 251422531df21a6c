//! The conditions of the objects that a request is about.
//!
//! A request needs no right on targets, so their `objects.conditions` is not known here: an object without driftObserved
//! in its status may have a DriftReport.

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
    let lacking = objects.iter().filter(|(kind, object)| may_have_report(&resolved(kind), object));
    let (count, namespace) =
        (lacking.clone().count(), lacking.clone().find_map(|(_, object)| object.id.namespace.clone()));
    let listed = match namespace {
        Some(namespace) if count > 1 => Some(ListedReports::list(client, &[namespace.to_string()]).await),
        _ => None,
    };
    let mut meant = Vec::new();
    for (kind, object) in objects {
        let resolved = resolved(&kind);
        let attached = match &listed {
            _ if !may_have_report(&resolved, &object) => Ok(object.clone()),
            Some(Ok(reports)) => Ok(with_found(&object, reports.find(&resolved, &object.id).cloned())),
            Some(Err(unread)) => without_report(&object, unread),
            None => read_with_report(client, &resolved, &object).await,
        };
        let (object, unread) = match attached {
            Ok(attached) => (attached, None),
            Err(unread) => (object, Some(unread)),
        };
        meant.push(MeantObject { kind, object, unread });
    }
    meant
}

/// Returns true if the conditions of the object may be in a report.
pub(super) fn may_have_report(kind: &ResolvedKind, object: &LeanObject) -> bool {
    kind.namespaced && object.conditions.observed().is_none()
}

/// Reads the report of an object. Returns the object with its conditions, or as it is if it has none.
///
/// # Errors
/// A sentence, if it is unknown if there is a report.
pub(super) async fn read_with_report(
    client: &kube::Client,
    kind: &ResolvedKind,
    object: &LeanObject,
) -> Result<LeanObject, String> {
    match read_report(client, kind, &object.id).await {
        Ok(report) => {
            let seen = report.map(|report| SeenReport::of(LeanObject::prune(&report, &report_fields())));
            Ok(with_found(object, seen))
        }
        Err(unread) => without_report(object, &unread),
    }
}

fn with_found(object: &LeanObject, found: Option<SeenReport>) -> LeanObject {
    let is_its = |report: &SeenReport| report.state.about(&object.id.uid).is_some();
    match found.filter(is_its) {
        Some(report) => object.clone().with_report(report),
        None => object.clone(),
    }
}

/// A cluster without the kind has no reports.
fn without_report(object: &LeanObject, unread: &ReportsUnread) -> Result<LeanObject, String> {
    match unread {
        ReportsUnread::NotInstalled => Ok(object.clone()),
        ReportsUnread::Forbidden(_) | ReportsUnread::Unanswered(_) => Err(unread.to_string()),
    }
}
