//! The conditions of listed objects, from where the target of each keeps them.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::condition::Conditions;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, SeenObject};
use drift_kube::client::{CallError, ResolvedKind};
use drift_kube::reports::{ListedReports, ReportsUnread, report_kind};
use drift_language::{ConditionsPlace, ObjectSelection};
use futures::{StreamExt as _, stream};

use super::REQUESTS_AT_ONCE;
use super::collections::is_refused;
use crate::cluster::each_object;

/// The lists of reports of one command. Each place is listed once, for all kinds. `None` is the whole cluster.
#[derive(Debug, Default)]
pub(crate) struct ReportLists {
    lists: BTreeMap<Option<String>, Result<ListedReports, ReportsUnread>>,
}

/// The places of the reports of targets with objects in these namespaces (empty: all).
fn places<'a>(targets: impl Iterator<Item = (&'a ObjectSelection, Vec<String>)>) -> BTreeSet<Option<String>> {
    let keeping = targets.filter(|(objects, _)| objects.keeps_reports());
    let of = |(_, namespaces): (_, Vec<String>)| match namespaces.is_empty() {
        true => vec![None],
        false => namespaces.into_iter().map(Some).collect(),
    };
    keeping.flat_map(of).collect()
}

/// Returns the places to follow: all namespaces if a target needs them, and those that targets name if that may not be
/// listed.
pub(crate) async fn followed_places<'a>(
    client: &kube::Client,
    targets: impl Iterator<Item = (&'a ObjectSelection, Vec<String>)>,
) -> BTreeSet<Option<String>> {
    let places = places(targets);
    let is_mixed = places.len() > 1;
    if !places.contains(&None) || (is_mixed && is_refused(client, &report_kind()).await) {
        return places;
    }
    BTreeSet::from([None])
}

impl ReportLists {
    /// Lists the reports of targets with objects in these namespaces (empty: all). If the whole cluster cannot be listed,
    /// the namespaces that targets name are.
    pub(crate) async fn read<'a>(
        client: &kube::Client,
        targets: impl Iterator<Item = (&'a ObjectSelection, Vec<String>)>,
    ) -> Self {
        let mut places = places(targets);
        let mut lists = BTreeMap::new();
        if places.remove(&None) {
            let all = ListedReports::list(client, &[]).await;
            let is_enough = all.is_ok();
            lists.insert(None, all);
            if is_enough {
                return Self { lists };
            }
        }
        let read = async |place: Option<String>| {
            let listed = ListedReports::list(client, place.as_slice()).await;
            (place, listed)
        };
        lists.extend(stream::iter(places).map(read).buffered(REQUESTS_AT_ONCE).collect::<Vec<_>>().await);
        Self { lists }
    }

    /// Returns the reports of a namespace; `None` if they are not known.
    fn of(&self, namespace: Option<&str>) -> Option<&ListedReports> {
        let known = |place: &Option<String>| self.lists.get(place).and_then(|list| list.as_ref().ok());
        known(&None).or_else(|| known(&namespace.map(str::to_owned)))
    }

    /// Returns the object with the conditions that its target keeps.
    pub(crate) fn join(&self, (objects, kind): (&ObjectSelection, &ResolvedKind), seen: &SeenObject) -> SeenObject {
        let reports = if objects.keeps_reports() { self.of(seen.object.id.namespace.as_deref()) } else { None };
        with_its_conditions((objects, kind), reports, seen.clone())
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

/// Looks at the objects that a target selects, like [`each_object`], each with the conditions that the target keeps.
/// Returns the reasons why reports could not be read; then the conditions are unknown.
///
/// # Errors
/// When the objects cannot be listed.
pub(crate) async fn each_with_conditions(
    client: &kube::Client,
    (objects, kind): (&ObjectSelection, &ResolvedKind),
    mut look: impl FnMut(&SeenObject),
) -> Result<ReportLists, CallError> {
    let reports = ReportLists::read(client, std::iter::once((objects, objects.namespaces.clone()))).await;
    let look = |seen: &SeenObject| look(&reports.join((objects, kind), seen));
    each_object(client, (objects, kind), (None, FieldPaths::default()), look).await?;
    Ok(reports)
}
