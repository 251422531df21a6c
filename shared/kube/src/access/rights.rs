//! The currently required rights: the program's own, and those of each active target.
//!
//! Targets come and go, and with them the watched kinds. The user of a right holds a guard. After its drop the rights
//! are no longer checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::access::Right;
use crate::access::missing::MissingRights;
use crate::client::ResolvedKind;
use drift_api::names::{GROUP, REPORT_PLURAL, REPORT_VERB};
use drift_language::ObjectSelection;

/// The required rights, by their users.
#[derive(Clone, Debug)]
pub struct RightsNeeded {
    owners: Arc<Mutex<BTreeMap<u64, Vec<Right>>>>,
    all: watch::Sender<BTreeSet<Right>>,
    missing: watch::Sender<BTreeSet<Right>>,
}

/// Guard: the rights are checked until it is dropped.
#[derive(Debug)]
#[must_use = "the rights are no longer asked for when this is dropped"]
pub struct Need {
    rights: RightsNeeded,
    owner: u64,
}

/// The number of missing rights, read with each scrape.
#[derive(Debug)]
struct MissingGauge(watch::Receiver<BTreeSet<Right>>);

impl EncodeMetric for MissingGauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&i64::try_from(self.0.borrow().len()).unwrap_or(i64::MAX))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

impl Default for RightsNeeded {
    fn default() -> Self {
        let [all, missing] = [(); 2].map(|()| watch::Sender::new(BTreeSet::new()));
        Self { owners: Arc::default(), all, missing }
    }
}

impl RightsNeeded {
    /// Adds required rights until the guard is dropped.
    pub fn need(&self, rights: Vec<Right>) -> Need {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = owners.keys().next_back().map_or(0, |last| last + 1);
        owners.insert(owner, rights);
        self.publish(&owners);
        Need { rights: self.clone(), owner }
    }

    /// Returns a receiver of all required rights, and a sender for the missing ones.
    #[must_use]
    pub fn to_be_asked(&self) -> (watch::Receiver<BTreeSet<Right>>, watch::Sender<BTreeSet<Right>>) {
        (self.all.subscribe(), self.missing.clone())
    }

    /// Registers the number of missing rights as a metric.
    pub fn register(&self, registry: &mut Registry) {
        let help = "Rights that the program needs and its ServiceAccount lacks, as /readyz lists them";
        registry.register("rights_missing", help, MissingGauge(self.missing.subscribe()));
    }

    /// Follows the missing ones among some rights.
    #[must_use]
    pub fn follow_missing(&self, rights: Vec<Right>) -> MissingRights {
        MissingRights::new(rights, self.missing.subscribe())
    }

    fn publish(&self, owners: &BTreeMap<u64, Vec<Right>>) {
        let all: BTreeSet<Right> = owners.values().flatten().cloned().collect();
        self.all.send_if_modified(|before| {
            let changed = *before != all;
            *before = all;
            changed
        });
    }
}

impl Drop for Need {
    fn drop(&mut self) {
        let mut owners = self.rights.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.remove(&self.owner);
        self.rights.publish(&owners);
    }
}

/// Returns `verbs` on objects of a kind (or a subresource of them), in every namespace of a selection.
#[must_use]
pub fn rights_on(
    kind: &ResolvedKind,
    selection: &ObjectSelection,
    verbs: &[&'static str],
    subresource: &'static str,
) -> Vec<Right> {
    // The selection's namespaces do not apply to a cluster-scoped object.
    let places = if kind.namespaced { places(selection) } else { vec![None] };
    rights_at(&places, kind, verbs, subresource)
}

/// Returns `verbs` on objects of a kind in this namespace. `None` means the namespaces of the selection.
#[must_use]
pub fn rights_beside(
    kind: &ResolvedKind,
    namespace: Option<&str>,
    selection: &ObjectSelection,
    verbs: &[&'static str],
) -> Vec<Right> {
    let places = match namespace {
        _ if !kind.namespaced => vec![None],
        Some(namespace) => vec![Some(namespace.to_owned())],
        None => places(selection),
    };
    rights_at(&places, kind, verbs, "")
}

fn rights_at(
    places: &[Option<String>],
    kind: &ResolvedKind,
    verbs: &[&'static str],
    subresource: &'static str,
) -> Vec<Right> {
    let right = |namespace: &Option<String>, verb: &'static str| Right {
        verb,
        group: kind.resource.group.clone(),
        resource: kind.resource.plural.clone(),
        subresource,
        name: None,
        namespace: namespace.clone(),
    };
    places.iter().flat_map(|place| verbs.iter().map(move |verb| right(place, verb))).collect()
}

/// Returns `verbs` on Jobs, in every namespace of a selection.
#[must_use]
pub fn rights_on_jobs(selection: &ObjectSelection, verbs: &[&'static str]) -> Vec<Right> {
    rights_on_known(&places(selection), ("batch", "jobs"), verbs)
}

/// Returns `verbs` on DriftReports, in every namespace of a selection.
#[must_use]
pub fn rights_on_reports(selection: &ObjectSelection, verbs: &[&'static str]) -> Vec<Right> {
    rights_on_known(&places(selection), (GROUP, REPORT_PLURAL), verbs)
}

/// Returns the right by which the admission policy lets a program write DriftReports.
#[must_use]
pub fn right_to_report() -> Vec<Right> {
    rights_on_known(&[None], (GROUP, REPORT_PLURAL), &[REPORT_VERB])
}

fn rights_on_known(places: &[Option<String>], (group, resource): (&str, &str), verbs: &[&'static str]) -> Vec<Right> {
    let right = |namespace: &Option<String>, verb: &'static str| Right {
        verb,
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: "",
        name: None,
        namespace: namespace.clone(),
    };
    places.iter().flat_map(|place| verbs.iter().map(move |verb| right(place, verb))).collect()
}

/// Returns the right to create Events about objects, in every namespace of a selection.
#[must_use]
pub fn rights_to_tell(selection: &ObjectSelection) -> Vec<Right> {
    places(selection).into_iter().map(right_to_tell).collect()
}

/// Returns the right to create Events in a namespace, or in all.
#[must_use]
pub fn right_to_tell(namespace: Option<String>) -> Right {
    let (group, resource) = ("events.k8s.io".to_owned(), "events".to_owned());
    Right { verb: "create", group, resource, subresource: "", name: None, namespace }
}

/// Returns the rights that both programs need in their own namespace: targets, credentials, their Lease, Events.
#[must_use]
pub fn rights_at_home(namespace: &str, lease: &str) -> Vec<Right> {
    let right = |verb, group: &str, resource: &str, name: Option<&str>| Right {
        verb,
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: "",
        name: name.map(str::to_owned),
        namespace: Some(namespace.to_owned()),
    };
    vec![
        right("list", "", "configmaps", None),
        right("watch", "", "configmaps", None),
        right("list", "", "secrets", None),
        right("watch", "", "secrets", None),
        right("create", "coordination.k8s.io", "leases", None),
        right("get", "coordination.k8s.io", "leases", Some(lease)),
        right("update", "coordination.k8s.io", "leases", Some(lease)),
        right_to_tell(Some(namespace.to_owned())),
    ]
}

/// Returns the right to read the Lease of the other program.
#[must_use]
pub fn right_to_read_lease(namespace: &str, lease: &str) -> Right {
    Right {
        verb: "get",
        group: "coordination.k8s.io".to_owned(),
        resource: "leases".to_owned(),
        subresource: "",
        name: Some(lease.to_owned()),
        namespace: Some(namespace.to_owned()),
    }
}

fn places(selection: &ObjectSelection) -> Vec<Option<String>> {
    match selection.namespaces.as_slice() {
        [] => vec![None],
        some => some.iter().cloned().map(Some).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_needed_as_long_as_somebody_needs_them() {
        let needed = RightsNeeded::default();
        let (all, _) = needed.to_be_asked();
        let first = needed.need(rights_at_home("n", "l"));
        let second = needed.need(vec![right_to_tell(Some("n".to_owned())), right_to_tell(None)]);
        assert_eq!(all.borrow().len(), 9, "a right that two need is one");
        drop(first);
        assert_eq!(all.borrow().len(), 2);
        drop(second);
        assert!(all.borrow().is_empty());
    }

    #[test]
    fn missing_rights_are_counted_with_each_scrape() {
        let rights = RightsNeeded::default();
        let mut registry = crate::telemetry::metrics::registry("poller");
        rights.register(&mut registry);
        let (_, missing) = rights.to_be_asked();
        let lacking = rights_at_home("n", "l");
        for (missed, expected) in [(0, 0), (3, 3), (1, 1), (0, 0)] {
            missing.send_replace(lacking.iter().take(missed).cloned().collect());
            let text = crate::telemetry::metrics::text(&registry).unwrap();
            let line = format!("\ndrift_rights_missing{{program=\"poller\"}} {expected}\n");
            assert!(text.contains(&line), "{text}");
        }
    }
}
