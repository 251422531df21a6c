//! The reports that `get --watch` follows.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::object::SeenObject;
use drift_api::object::report::SeenReport;
use drift_kube::reports::ListedReports;
use drift_kube::watch::Change;

use crate::targets::KnownKind;
use crate::targets::reports::with_its_conditions;

/// The reports of each followed collection.
#[derive(Debug, Default)]
pub(super) struct FollowedReports {
    collections: BTreeMap<usize, Collection>,
}

#[derive(Debug, Default)]
struct Collection {
    /// `None` for all namespaces.
    namespace: Option<String>,
    /// `None` until the list is complete, and if it failed.
    known: Option<ListedReports>,
    /// The list that is under way.
    coming: ListedReports,
}

/// The objects whose reports changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// All that have reports.
    All,
    /// These, by uid.
    Of(BTreeSet<String>),
}

impl Changed {
    /// Returns true if the report of the object with this uid changed.
    pub(super) fn concerns(&self, uid: &str) -> bool {
        match self {
            Self::All => true,
            Self::Of(uids) => uids.contains(uid),
        }
    }

    fn of(reports: impl IntoIterator<Item = SeenReport>) -> Self {
        Self::Of(reports.into_iter().filter_map(|report| Some(report.state.stored?.object.to_string())).collect())
    }
}

impl FollowedReports {
    /// Creates it for collections by number, each of a namespace or all (`None`).
    pub(super) fn new(collections: BTreeMap<usize, Option<String>>) -> Self {
        let collection = |(number, namespace)| (number, Collection { namespace, ..Collection::default() });
        Self { collections: collections.into_iter().map(collection).collect() }
    }

    /// Returns true if the number is of a collection of reports.
    pub(super) fn has(&self, number: usize) -> bool {
        self.collections.contains_key(&number)
    }

    /// Takes in a change. Returns the objects that it concerns.
    pub(super) fn hear(&mut self, number: usize, change: Change<SeenObject>) -> Changed {
        let none = Changed::Of(BTreeSet::new());
        let Some(Collection { known, coming, .. }) = self.collections.get_mut(&number) else { return none };
        match change {
            Change::ListBegan => *coming = ListedReports::default(),
            Change::Found(seen, _) => _ = coming.insert(seen.object),
            Change::ListEnded(_) => {
                *known = Some(std::mem::take(coming));
                return Changed::All;
            }
            Change::Changed(seen) => {
                let Some(known) = known else { return none };
                let before = known.insert(seen.object.clone());
                return Changed::of(before.into_iter().chain([SeenReport::of(seen.object)]));
            }
            Change::Deleted(seen) => {
                let Some(known) = known else { return none };
                return Changed::of(known.remove(&seen.object.id));
            }
            Change::Failing(why) => tracing::warn!(
                "the driftreports, which have conditions, cannot be followed: {why}; that needs the verbs get, list and watch"
            ),
            Change::Bookmark | Change::Connected => {}
        }
        none
    }

    /// Returns the object with the conditions that its target keeps.
    pub(super) fn join(&self, one: &KnownKind, seen: &SeenObject) -> SeenObject {
        let namespace = seen.object.id.namespace.as_deref();
        let is_its =
            |collection: &&Collection| collection.namespace.is_none() || collection.namespace.as_deref() == namespace;
        let known = self.collections.values().filter(is_its).find_map(|collection| collection.known.as_ref());
        with_its_conditions((&one.objects, &one.kind), known, seen.clone())
    }
}
