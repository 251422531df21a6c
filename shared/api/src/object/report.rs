//! The `DriftReport`: both conditions of one object, kept beside it.
//!
//! Kinds whose own status cannot keep the conditions have one. An ownerReference ties it to its object. It also names the
//! uid of the object, so that the report of a former object with the same name does not count for the present one. The
//! next poll writes a lost report again. Pure.

use serde_json::{Value, json};

use crate::collections::shared_text::SharedText;
use crate::condition::{Conditions, GenerationPlace};
use crate::identity::Uid;
use crate::names::{INSTALLATION_ANNOTATION, REPORT_API_VERSION, REPORT_KIND};
use crate::object::field_paths::FieldPaths;
use crate::object::{LeanObject, ObjectId};
use crate::resource_version::{ResourceVersion, VersionNumber};
use crate::short_hash;

/// Maximum length of an object's name in Kubernetes.
const MAX_NAME: usize = 253;

/// The state of an object's report in the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportState {
    /// The report. `None` if there is none.
    pub stored: Option<StoredReport>,
    /// The version of the collection at which this was the state: that of its list, or its own. `None` if a live read
    /// found no report.
    pub current_at: Option<VersionNumber>,
}

/// A report in the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReport {
    /// Its own `metadata.uid`.
    pub uid: Uid,
    /// Its own `metadata.resourceVersion`.
    pub resource_version: ResourceVersion,
    /// The uid of the object that it is about.
    pub object: Uid,
    /// True if it names fields that differ.
    pub names_fields: bool,
    /// The installation that it names. `None` if it names none.
    pub installation: Option<SharedText>,
    /// True if it has any annotation.
    pub is_annotated: bool,
}

impl StoredReport {
    /// Returns the operations that name this installation in the report, in which they were not read so. The writer of a
    /// report has its object, so the former installation must not delete it.
    #[must_use]
    pub fn naming(&self, installation: &str) -> Vec<Value> {
        let path = "/metadata/annotations";
        match &self.installation {
            Some(named) if **named == *installation => Vec::new(),
            _ if self.is_annotated => {
                let path = format!("{path}/{}", INSTALLATION_ANNOTATION.replace('/', "~1"));
                vec![json!({"op": "add", "path": path, "value": installation})]
            }
            _ => vec![json!({"op": "add", "path": path, "value": {INSTALLATION_ANNOTATION: installation}})],
        }
    }
}

/// A report as it was seen, or its absence, with the conditions in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenReport {
    /// Its state.
    pub state: ReportState,
    /// Its conditions.
    pub conditions: Conditions,
    /// True if a list says so. A watch may be late, a list is not.
    pub is_listed: bool,
}

impl SeenReport {
    /// Creates it from a DriftReport that was decoded with [`report_fields`].
    #[must_use]
    pub fn of(report: LeanObject) -> Self {
        let view = report.view.open();
        let object = view.pointer("/object/uid").and_then(Value::as_str).unwrap_or_default().into();
        let names_fields = view.pointer("/status/fields").is_some_and(|fields| !fields.is_null());
        let is_annotated = view.pointer("/metadata/annotations").is_some_and(Value::is_object);
        let installation = installation_of(&report).as_deref().map(SharedText::from);
        let LeanObject { id, resource_version, conditions, .. } = report;
        let current_at = resource_version.number();
        let stored =
            Some(StoredReport { uid: id.uid, resource_version, object, names_fields, installation, is_annotated });
        Self { state: ReportState { stored, current_at }, conditions, is_listed: false }
    }

    /// The report as part of a list of that version.
    #[must_use]
    pub fn listed_at(mut self, list: Option<VersionNumber>) -> Self {
        self.state.current_at = self.state.current_at.max(list);
        Self { is_listed: true, ..self }
    }

    /// Returns true if only a live read can decide what is current: the list is older than the known state, or lacks
    /// a report of this object, and the known one is of a former object with its name.
    #[must_use]
    pub fn needs_live_read(&self, known: &LeanObject) -> bool {
        let Some(state) = known.report.as_deref().filter(|_| self.is_listed) else { return false };
        let is_of_former = state.stored.as_ref().is_some_and(|stored| stored.object != known.id.uid);
        (self.state.stored.is_none() && is_of_former) || !self.state.is_as_new_as(state)
    }

    /// The absence of a report in this version of the collection. `None` for a live read.
    #[must_use]
    pub fn absent(current_at: Option<VersionNumber>) -> Self {
        Self { state: ReportState { stored: None, current_at }, conditions: no_conditions(), is_listed: false }
    }
}

impl ReportState {
    /// Returns the report if it is about the object with this uid.
    #[must_use]
    pub fn about(&self, object: &Uid) -> Option<&StoredReport> {
        self.stored.as_ref().filter(|report| report.object == *object)
    }

    /// Returns true if `self` is as new as `known`. A state without a version is older than any with one.
    fn is_as_new_as(&self, known: &Self) -> bool {
        self.current_at >= known.current_at
    }
}

impl LeanObject {
    /// Returns the object with the conditions of its report, in place of those in its status.
    #[must_use]
    pub fn with_report(self, SeenReport { state, conditions, .. }: SeenReport) -> Self {
        let is_of_it = state.about(&self.id.uid).is_some();
        let conditions = if is_of_it { conditions } else { no_conditions() };
        Self { conditions, report: Some(Box::new(state)), ..self }
    }

    /// Returns the newer state of the object, with the newer state of its report. `None` if `known` has both. An object
    /// whose response came without its report has the report that is known.
    #[must_use]
    pub fn joined_with(self, known: &Self) -> Option<Self> {
        let Some(known_report) = &known.report else { return self.is_as_new_as(known).then_some(self) };
        let is_new = self.is_object_as_new_as(known);
        match &self.report {
            Some(report) if is_new && report.is_as_new_as(known_report) => Some(self),
            _ if is_new => Some(self.with_report_of(known)),
            Some(report) if report.is_as_new_as(known_report) && report != known_report => {
                Some(known.clone().with_report_of(&self))
            }
            _ => None,
        }
    }

    /// Like [`Self::joined_with`], if the object is known at all.
    #[must_use]
    pub fn newer_than(self, known: Option<&Self>) -> Option<Self> {
        match known {
            Some(known) => self.joined_with(known),
            None => Some(self),
        }
    }

    fn with_report_of(self, other: &Self) -> Self {
        Self { report: other.report.clone(), conditions: other.conditions.clone(), ..self }
    }

    pub(super) fn is_report_as_new_as(&self, known: &Self) -> bool {
        match (&self.report, &known.report) {
            (Some(report), Some(known)) => report.is_as_new_as(known),
            (_, None) => true,
            (None, Some(_)) => false,
        }
    }
}

/// The place of an object's generation in the conditions of its report. `kubectl wait` compares `observedGeneration` with
/// the generation of the report itself, which each write raises.
const GENERATION_PLACE: GenerationPlace = GenerationPlace::Tag;

/// The fields of a DriftReport that are kept, besides its conditions.
#[must_use]
pub fn report_fields() -> FieldPaths {
    let mut fields = FieldPaths::default().with_generation_in(GENERATION_PLACE);
    fields.insert(vec!["object".to_owned()]);
    fields.insert(["status", "fields"].map(str::to_owned).to_vec());
    fields.insert(["metadata", "annotations"].map(str::to_owned).to_vec());
    fields
}

/// Returns the conditions of a report that does not exist, or is about another object.
fn no_conditions() -> Conditions {
    Conditions::default().with_generation_in(GENERATION_PLACE)
}

/// Returns the name of an object's report: kind, group and name to read, and a hash that keeps names apart which are
/// too long or differ in case.
#[must_use]
pub fn report_name(group: &str, kind: &str, name: &str) -> String {
    let hash = format!("{:08x}", short_hash(&format!("{group}/{kind}/{name}")));
    let group = if group.is_empty() { String::new() } else { format!("{group}.") };
    let readable = format!("{kind}.{group}{name}").to_lowercase().replace(':', "-");
    let end = readable.floor_char_boundary(MAX_NAME - hash.len() - 1);
    format!("{}.{hash}", readable[..end].trim_end_matches(['.', '-']))
}

/// Returns the name of an installation: its namespace, and the name of its poller's Lease.
#[must_use]
pub fn installation(namespace: &str, poller_lease: &str) -> String {
    format!("{namespace}/{poller_lease}")
}

/// Returns true if this installation made a report, which was decoded with [`report_fields`].
#[must_use]
pub fn is_made_by(report: &LeanObject, installation: &str) -> bool {
    installation_of(report).as_deref() == Some(installation)
}

fn installation_of(report: &LeanObject) -> Option<String> {
    let view = report.view.open();
    let annotations = view.pointer("/metadata/annotations")?;
    annotations.get(INSTALLATION_ANNOTATION)?.as_str().map(str::to_owned)
}

/// Returns a report without conditions, about an object of this version and kind.
#[must_use]
pub fn new_report(installation: &str, (api_version, kind): (&str, &str), id: &ObjectId) -> Value {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let object = json!({"apiVersion": api_version, "kind": kind, "name": &*id.name, "uid": &*id.uid});
    json!({
        "apiVersion": REPORT_API_VERSION,
        "kind": REPORT_KIND,
        "metadata": {
            "name": report_name(group, kind, &id.name),
            "namespace": id.namespace.as_deref(),
            "annotations": {INSTALLATION_ANNOTATION: installation},
            "ownerReferences": [object.clone()],
        },
        "object": object,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(version: u64) -> LeanObject {
        let object = json!({"metadata": {"namespace": "n", "name": "o", "uid": "u",
            "resourceVersion": version.to_string()}});
        LeanObject::prune(&object, &FieldPaths::default())
    }

    fn report(version: u64, reason: &str) -> SeenReport {
        let condition = json!({"type": "driftObserved", "status": "True", "reason": reason, "message": "m"});
        let report = json!({"metadata": {"name": "r", "uid": "ru", "resourceVersion": version.to_string()},
            "object": {"uid": "u"}, "status": {"conditions": [condition]}});
        SeenReport::of(LeanObject::prune(&report, &report_fields()))
    }

    fn gone(version: u64) -> SeenReport {
        SeenReport::absent(VersionNumber::of(&version.to_string()))
    }

    #[test]
    fn a_report_is_named_by_its_object() {
        let long = "x".repeat(253);
        for (group, kind, name, expected) in [
            ("rabbitmq.com", "Queue", "orders", "queue.rabbitmq.com.orders."),
            ("", "Service", "web", "service.web."),
            ("rbac.authorization.k8s.io", "Role", "system:Node", "role.rbac.authorization.k8s.io.system-node."),
            ("g.example", "Ox", &long, "ox.g.example.xxx"),
        ] {
            let made = report_name(group, kind, name);
            assert!(made.starts_with(expected) && made.len() <= MAX_NAME, "{made}");
        }
        let first = report_name("g.example", "Ox", "a:b");
        assert_ne!(first, report_name("g.example", "Ox", "a-b"));
        assert_eq!(first, report_name("g.example", "Ox", "a:b"));
    }

    #[test]
    fn a_report_of_a_former_object_says_nothing() {
        let mut former = report(7, "InSync");
        former.state.stored.as_mut().unwrap().object = "former".into();
        assert_eq!(object(5).with_report(former).conditions.observed, None);
        assert!(object(5).with_report(report(7, "InSync")).conditions.observed.is_some());
    }

    proptest! {
        /// Both watches and the responses of writes may bring their parts in any order.
        #[test]
        fn the_newest_of_both_parts_wins_in_any_order(parts in Just(vec![(1, 1), (2, 1), (2, 3), (4, 3), (4, 5)]).prop_shuffle()) {
            let at = |(object_version, report_version): (u64, u64)| {
                let report = if report_version == 5 { gone(5) } else { report(report_version, "InSync") };
                object(object_version).with_report(report)
            };
            let mut known = at(parts[0]);
            for part in &parts[1..] {
                if let Some(joined) = at(*part).joined_with(&known) {
                    prop_assert!(joined.is_as_new_as(&known));
                    known = joined;
                }
            }
            prop_assert_eq!(known, at((4, 5)));
        }
    }

    #[test]
    fn an_absence_counts_from_its_version_on() {
        let known = object(5).with_report(report(7, "InSync"));
        let join = |seen: SeenReport| object(5).with_report(seen).joined_with(&known);
        assert_eq!(join(SeenReport::absent(None)), Some(known.clone()), "a live read that began before");
        assert_eq!(join(gone(6)), Some(known.clone()), "a list before the report was written");
        let absent = join(gone(7)).unwrap();
        assert_eq!((absent.report.unwrap().stored, absent.conditions.observed), (None, None));
        let read = object(5).with_report(SeenReport::absent(None)).read_after(&known);
        assert_eq!(read.clone().joined_with(&known), Some(read), "a live read after");
    }

    #[test]
    fn a_list_older_than_the_known_report_asks_for_a_live_read() {
        let version = |version: u64| VersionNumber::of(&version.to_string());
        let known = object(5).with_report(report(7, "InSync"));
        assert!(gone(0).listed_at(version(6)).needs_live_read(&known));
        assert!(report(4, "InSync").listed_at(version(6)).needs_live_read(&known));
        assert!(!report(6, "InSync").needs_live_read(&known), "a late watch brings the newer one yet");
        assert!(!report(7, "InSync").listed_at(version(6)).needs_live_read(&known), "written after the list began");
        assert!(!gone(0).listed_at(version(7)).needs_live_read(&known));
        assert!(!gone(0).listed_at(version(1)).needs_live_read(&object(5)), "no report is known");
    }

    #[test]
    fn a_list_without_a_report_says_nothing_about_that_of_a_former_object() {
        let mut former = report(7, "InSync");
        former.state.stored.as_mut().unwrap().object = "former".into();
        assert!(gone(0).listed_at(VersionNumber::of("9")).needs_live_read(&object(5).with_report(former)));
    }

    #[test]
    fn a_response_without_its_report_keeps_the_known_one() {
        let known = object(5).with_report(report(7, "InSync"));
        let joined = object(6).joined_with(&known).unwrap();
        assert_eq!((joined.report, joined.conditions), (known.report.clone(), known.conditions.clone()));
        assert_eq!(object(4).joined_with(&known), None);
        assert_eq!(known.clone().joined_with(&object(6).with_report(report(7, "InSync"))), None);
    }
}
