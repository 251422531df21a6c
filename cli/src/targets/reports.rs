//! The conditions of listed objects, from where the target of each keeps them.

use std::collections::BTreeMap;

use drift_api::condition::Conditions;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, SeenObject};
use drift_kube::client::{CallError, ResolvedKind};
use drift_kube::reports::{ListedReports, ReportsUnread};
use drift_language::{ConditionsPlace, ObjectSelection};

use crate::cluster::{each_object, selected_namespaces};

/// The lists of reports of one command. Each place is listed once, for all kinds.
#[derive(Debug, Default)]
pub(crate) struct ReportLists {
    lists: BTreeMap<Vec<String>, Result<ListedReports, ReportsUnread>>,
}

impl ReportLists {
    /// Lists the reports of a target with objects in these namespaces (empty: all), unless they are known. `None` if it
    /// has none, or they cannot be read.
    pub(crate) async fn list(
        &mut self,
        client: &kube::Client,
        (objects, namespaces): (&ObjectSelection, &[String]),
    ) -> Option<&ListedReports> {
        if !objects.keeps_reports() {
            return None;
        }
        if !self.lists.contains_key(namespaces) {
            self.lists.insert(namespaces.to_vec(), ListedReports::list(client, namespaces).await);
        }
        self.lists.get(namespaces)?.as_ref().ok()
    }

    /// The reasons why reports could not be read.
    pub(crate) fn unread(&self) -> impl Iterator<Item = &ReportsUnread> {
        self.lists.values().filter_map(|list| list.as_ref().err())
    }
}

/// Returns the object with the conditions that its target keeps: with reports those of its report, and none if the
/// reports are not known.
pub(crate) fn with_its_conditions(
    (objects, kind): (&ObjectSelection, &ResolvedKind),
    reports: Option<&ListedReports>,
    seen: SeenObject,
) -> SeenObject {
    let SeenObject { object, labels } = seen;
    let object = match (objects.conditions, reports) {
        (ConditionsPlace::Object, _) => object,
        (ConditionsPlace::Report, Some(reports)) => reports.attach(kind, object),
        (ConditionsPlace::Report, None) => LeanObject { conditions: Conditions::default(), report: None, ..object },
    };
    SeenObject { object, labels }
}

/// Returns true if the conditions of the object are in a report that could not be read.
pub(crate) fn is_unread(objects: &ObjectSelection, object: &LeanObject) -> bool {
    objects.keeps_reports() && object.report.is_none()
}

/// Looks at the objects that a target selects, like [`each_object`], each with the conditions that the target keeps. If
/// `reports` cannot be read, they are unknown.
///
/// # Errors
/// When the objects cannot be listed.
pub(crate) async fn each_with_conditions(
    client: &kube::Client,
    (objects, kind): (&ObjectSelection, &ResolvedKind),
    namespace: Option<&str>,
    reports: &mut ReportLists,
    mut look: impl FnMut(&SeenObject),
) -> Result<(), CallError> {
    let Some(namespaces) = selected_namespaces(objects, kind, namespace) else { return Ok(()) };
    let reports = reports.list(client, (objects, &namespaces)).await;
    let look = |seen: &SeenObject| look(&with_its_conditions((objects, kind), reports, seen.clone()));
    each_object(client, (objects, kind), (namespace, FieldPaths::default()), look).await
}
