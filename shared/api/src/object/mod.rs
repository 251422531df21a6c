//! The lean object: the kept part of a watched object.
//!
//! A whole object in memory costs a hundred times more than the programs need. They keep its identity, the two
//! conditions, our annotations, and otherwise only the fields that the target's templates read.

mod annotation_requests;
pub mod cluster_resource;
pub mod field_paths;
pub mod kept_fields;
pub mod object_view;
pub mod report;
pub mod status_patch;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::collections::shared_text::{SharedText, literal};
use crate::condition::{Conditions, CorrectionStatus};
use crate::identity::{ResourceName, Uid};
use crate::names;
use crate::object::field_paths::FieldPaths;
use crate::object::kept_fields::KeptObject;
use crate::object::object_view::ObjectView;
use crate::object::report::ReportState;
use crate::resource_version::{ResourceVersion, VersionNumber};

/// Maximum length of a kept request. People and tools write a time or an id. Any change within it counts.
const MAX_REQUEST_BYTES: usize = 256;

/// The identity of an object in the cluster. The uid distinguishes a recreated object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// Its namespace. `None` for a cluster-scoped kind.
    pub namespace: Option<SharedText>,
    /// The object's name.
    pub name: SharedText,
    /// The object's `metadata.uid`.
    pub uid: Uid,
}

impl std::fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "{namespace}/{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

impl ObjectId {
    /// Returns true if `namespace/name` contains the search text. An empty search matches all objects.
    #[must_use]
    pub fn is_found_by(&self, search: &str) -> bool {
        search.is_empty() || self.to_string().contains(search)
    }

    /// Formats the object as arguments of kubectl and of its plugin: `proxy/web -n team-a`.
    #[must_use]
    pub fn as_arguments(&self, kind: &str) -> String {
        let namespace = self.namespace.as_ref().map(|namespace| format!(" -n {namespace}")).unwrap_or_default();
        format!("{kind}/{}{namespace}", self.name)
    }
}

/// The kept part of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct LeanObject {
    /// The object's identity.
    pub id: ObjectId,
    /// The `metadata.resourceVersion` at which it was read.
    pub resource_version: ResourceVersion,
    /// A later collection version at which this state was current: that of its list, or of the state known before its
    /// live read. Otherwise its own. Boxed: only new objects need it, and [`Self::kept`] drops it.
    pub current_at: Option<Box<VersionNumber>>,
    /// `metadata.generation`. `None` for kinds without one (Service, PersistentVolumeClaim).
    pub generation: Option<i64>,
    /// `metadata.creationTimestamp`, seconds since 1970. 0 if missing or invalid.
    pub created: u32,
    /// True if `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `metadata.finalizers`, in order, because a removal tests the index.
    pub finalizers: Box<[SharedText]>,
    /// True if the object forbids creates, updates and deletions.
    pub paused: bool,
    /// True if a deletion of the object leaves the external resource unchanged.
    pub orphan: bool,
    /// The requests in its annotations. Boxed: nearly all objects have none.
    pub asked: Option<Box<AnnotationRequests>>,
    /// The two conditions and their indexes, on the object or in its report.
    pub conditions: Conditions,
    /// The object's report, if its target keeps the conditions there. Boxed: nearly all objects have none.
    pub report: Option<Box<ReportState>>,
    /// `self` as templates see it, with the fields that they read. No conditions, managedFields or resourceVersion.
    pub view: ObjectView,
    /// Reason why the fields are not kept. Then `view` is null.
    pub oversize: Option<Oversize>,
}

/// Reason why the fields of an object are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oversize {
    /// They exceed the maximum kept size of one object, or its depth.
    Object,
    /// The objects of its namespace, or all objects, take the memory that they may take.
    Namespace,
}

/// The requests in an object's annotations, and the time of its deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotationRequests {
    /// The value of the annotation that requests an immediate poll.
    pub poll: Option<SharedText>,
    /// The value of the annotation that requests one more correction.
    pub retry: Option<SharedText>,
    /// The reason of the pause, if the annotation that pauses the object has one.
    pub pause: Option<SharedText>,
    /// The identity that the object gives up.
    pub give_up: Option<SharedText>,
    /// The requested interval of its polls, not parsed.
    pub interval: Option<SharedText>,
    /// The time until which its windows are open, seconds since 1970. 0 if missing or invalid.
    pub window_open_until: u32,
    /// True if the annotation that opens its windows is no RFC 3339 time.
    pub is_window_unreadable: bool,
    /// The hash of the approved correction.
    pub approved: Option<SharedText>,
    /// `metadata.deletionTimestamp`, seconds since 1970. 0 if missing or invalid.
    pub deletion: u32,
}

/// A newly seen object, with the labels that decide its target.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenObject {
    /// The lean object.
    pub object: LeanObject,
    /// The object's `metadata.labels`.
    pub labels: Option<Value>,
}

impl LeanObject {
    /// Creates it from a whole object. Missing metadata reads as empty, because the API server always sends it.
    #[must_use]
    pub fn prune(object: &Value, paths: &FieldPaths) -> Self {
        Self::of(object, ObjectView::of(&paths.prune(&visible(object))), paths)
    }

    /// Creates it from the fields that decoding kept.
    #[must_use]
    pub fn of_kept(kept: &KeptObject, paths: &FieldPaths) -> Self {
        if kept.is_oversized {
            return Self::of(&kept.json, ObjectView::default(), paths).without_fields(Oversize::Object);
        }
        Self::prune(&kept.json, paths)
    }

    fn of(object: &Value, view: ObjectView, paths: &FieldPaths) -> Self {
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        let annotation = |name: &str| {
            metadata.get("annotations").and_then(|all| all.get(name)).and_then(Value::as_str).map(SharedText::from)
        };
        let request = |name: &str| annotation(name).map(|value| cut(&value));
        let open_until = annotation(names::WINDOW_OPEN_UNTIL_ANNOTATION);
        let asked = AnnotationRequests {
            poll: request(names::POLL_REQUESTED_ANNOTATION),
            retry: request(names::RETRY_REQUESTED_ANNOTATION),
            pause: request(names::PAUSED_ANNOTATION).filter(|value| is_reason(value)),
            give_up: annotation(names::GIVE_UP_ANNOTATION),
            interval: request(names::INTERVAL_ANNOTATION),
            window_open_until: open_until.as_deref().map_or(0, since_epoch),
            is_window_unreadable: open_until.is_some_and(|time| time.parse::<Timestamp>().is_err()),
            approved: request(names::APPROVED_ANNOTATION),
            deletion: since_epoch(text("deletionTimestamp")),
        };
        Self {
            id: ObjectId {
                namespace: metadata.get("namespace").and_then(Value::as_str).map(SharedText::from),
                name: text("name").into(),
                uid: text("uid").into(),
            },
            resource_version: text("resourceVersion").into(),
            current_at: None,
            generation: metadata.get("generation").and_then(Value::as_i64),
            created: since_epoch(text("creationTimestamp")),
            deleting: metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null()),
            finalizers: finalizers(metadata),
            paused: is_on(annotation(names::PAUSED_ANNOTATION)),
            orphan: is_on(annotation(names::ORPHAN_ANNOTATION)),
            asked: (asked != AnnotationRequests::default()).then(|| Box::new(asked)),
            conditions: Conditions::from_status(object.get("status"))
                .with_readiness(paths.readiness)
                .with_generation_in(paths.generation_place),
            report: None,
            view,
            oversize: None,
        }
    }

    /// Returns the object without the fields that templates read.
    #[must_use]
    pub fn without_fields(self, reason: Oversize) -> Self {
        Self { view: ObjectView::default(), oversize: Some(reason), ..self }
    }

    /// Returns the object as it replaces `known` outside its watch, which alone gives an object its fields back.
    #[must_use]
    pub fn kept_as(self, known: &Self) -> Self {
        match known.oversize {
            Some(Oversize::Namespace) => self.without_fields(Oversize::Namespace),
            Some(Oversize::Object) | None => self,
        }
    }

    /// Returns the object for storage until a newer one arrives.
    #[must_use]
    pub fn kept(self) -> Self {
        Self { current_at: None, ..self }
    }

    /// Returns true if the object's record claims this resource, and the object does not give it up. A record that this
    /// version cannot read may claim anything.
    #[must_use]
    pub fn claims(&self, resource: &ResourceName) -> bool {
        let Some(condition) = self.conditions.corrected() else { return false };
        let Some(status) = CorrectionStatus::read(condition) else { return true };
        status.owned().is_some_and(|owned| owned.names(resource)) && !self.gives_up(&resource.identity)
    }

    /// Returns true if the object has our finalizer.
    #[must_use]
    pub fn has_finalizer(&self) -> bool {
        self.finalizers.iter().any(|finalizer| finalizer == names::FINALIZER)
    }

    /// Returns true if the object has a condition or finalizer of either program.
    #[must_use]
    pub fn carries_ours(&self) -> bool {
        self.conditions.observed.is_some() || self.conditions.corrected.is_some() || self.has_finalizer()
    }

    /// Returns true if templates have the same results for both.
    #[must_use]
    pub fn reads_as(&self, other: &Self) -> bool {
        self.view == other.view && self.oversize == other.oversize
    }

    /// Returns true if `self` is at least as new as `other`, and its report as the other one's. Versions that are not
    /// numbers order by arrival, so the later wins.
    #[must_use]
    pub fn is_as_new_as(&self, other: &Self) -> bool {
        self.is_object_as_new_as(other) && self.is_report_as_new_as(other)
    }

    fn is_object_as_new_as(&self, other: &Self) -> bool {
        match (self.resource_version.number(), other.resource_version.number()) {
            (Some(ours), Some(theirs)) => {
                ours >= theirs || self.current_at.as_deref().is_some_and(|current| *current >= theirs)
            }
            _ => true,
        }
    }

    /// Returns the object as part of a list of that version. It replaces the known state unless that is newer than the
    /// list. After a restore of the API server's store from a backup, its own version is smaller than a known one.
    #[must_use]
    pub fn listed_at(self, list_version: &str) -> Self {
        Self { current_at: VersionNumber::of(list_version).map(Box::new), ..self }
    }

    /// Returns true if it came in a list older than the known state. Only a live read can decide which one is current.
    #[must_use]
    pub fn is_listed_before(&self, known: &Self) -> bool {
        self.current_at.is_some() && !self.is_object_as_new_as(known)
    }

    /// Returns the object as read live after `known`. It replaces that and everything older.
    #[must_use]
    pub fn read_after(self, known: &Self) -> Self {
        let mut report = self.report;
        if let (Some(report), Some(known)) = (&mut report, &known.report) {
            report.current_at = report.current_at.max(known.current_at);
        }
        Self { current_at: known.resource_version.number().map(Box::new), report, ..self }
    }
}

/// Returns the seconds since 1970, at most those of the year 2106, in which 32 bits end. 0 for an invalid time and for
/// one before 1970.
fn since_epoch(time: &str) -> u32 {
    let seconds = time.parse::<Timestamp>().map_or(0, |time| time.as_second().max(0));
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

fn cut(request: &str) -> SharedText {
    request[..request.floor_char_boundary(MAX_REQUEST_BYTES)].into()
}

/// Returns true for any value but an empty one and `false`: a mistyped brake must hold.
fn is_on(brake: Option<SharedText>) -> bool {
    brake.is_some_and(|value| !matches!(value.as_str(), "" | "false"))
}

/// Returns true if the value of a brake says why it holds.
fn is_reason(brake: &str) -> bool {
    !matches!(brake, "" | "false" | names::TRUE)
}

fn finalizers(metadata: &Value) -> Box<[SharedText]> {
    let list = metadata.get("finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(kept_finalizer).collect()
}

/// Shares our own finalizer, which is on every object with an external deletion.
fn kept_finalizer(finalizer: &str) -> SharedText {
    static OURS: SharedText = literal!(names::FINALIZER);
    if finalizer == names::FINALIZER { OURS.clone() } else { finalizer.into() }
}

/// Returns the object without the fields that templates may not read, because our own writes change them. An object that
/// nothing has written a status to has an empty one, so that `has(self.status.id)` is false and no error.
fn visible(object: &Value) -> Value {
    let mut visible = Map::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        let hidden: &[&str] = match key.as_str() {
            "metadata" => &["managedFields", "resourceVersion"],
            "status" => &["conditions"],
            _ => &[],
        };
        let kept = match value {
            Value::Object(fields) if !hidden.is_empty() => {
                let keep = |(field, _): &(&String, &Value)| !hidden.contains(&field.as_str());
                Value::Object(fields.iter().filter(keep).map(|(field, value)| (field.clone(), value.clone())).collect())
            }
            other => other.clone(),
        };
        visible.insert(key.clone(), kept);
    }
    visible.entry("status").or_insert_with(|| Value::Object(Map::new()));
    Value::Object(visible)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_without_status_has_an_empty_one_for_templates() {
        let mut paths = FieldPaths::default();
        paths.insert(["status", "id"].map(str::to_owned).to_vec());
        let status = |object: Value| LeanObject::prune(&object, &paths).view.open().get("status").cloned();
        assert_eq!(status(json!({"metadata": {}})), Some(json!({})));
        assert_eq!(status(json!({"metadata": {}, "status": {"conditions": [], "id": 1}})), Some(json!({"id": 1})));
    }

    #[test]
    fn a_brake_holds_whatever_is_written_on_it_but_false() {
        let brakes = |annotations: Value| {
            let object = json!({"metadata": {"annotations": annotations}});
            let object = LeanObject::prune(&object, &FieldPaths::default());
            (object.paused, object.orphan)
        };
        let reason = |value: &str| {
            let object = json!({"metadata": {"annotations": {names::PAUSED_ANNOTATION: value}}});
            LeanObject::prune(&object, &FieldPaths::default()).pause_reason().map(str::to_owned)
        };
        for value in ["true", "false", ""] {
            assert_eq!(reason(value), None, "{value}");
        }
        assert_eq!(reason("CHG-4711: migration"), Some("CHG-4711: migration".to_owned()));
        assert_eq!(reason(&"x".repeat(9999)).map(|reason| reason.len()), Some(MAX_REQUEST_BYTES));
        for (value, holds) in [("true", true), ("yes", true), ("True", true), ("false", false), ("", false)] {
            assert_eq!(brakes(json!({ names::PAUSED_ANNOTATION: value })), (holds, false), "{value}");
            assert_eq!(brakes(json!({ names::ORPHAN_ANNOTATION: value })), (false, holds), "{value}");
        }
        assert_eq!(brakes(Value::Null), (false, false));
    }

    #[test]
    fn a_far_end_of_a_window_is_kept() {
        let until = |time: &str| {
            let object = json!({"metadata": {"annotations": {names::WINDOW_OPEN_UNTIL_ANNOTATION: time}}});
            let object = LeanObject::prune(&object, &FieldPaths::default());
            (object.window_open_until(), object.is_window_unreadable())
        };
        for (time, expected) in [
            ("2026-01-01T00:00:00Z", 1_767_225_600),
            ("2106-02-07T06:28:15Z", u32::MAX),
            ("2999-01-01T00:00:00Z", u32::MAX),
            ("1960-01-01T00:00:00Z", 0),
            ("tomorrow", 0),
            ("2026-01-01", 0),
        ] {
            let is_time = time.ends_with('Z');
            assert_eq!(until(time), (expected, !is_time), "{time}");
        }
    }

    #[test]
    fn a_long_request_is_cut() {
        let value = "\u{e9}".repeat(100_000);
        let object = json!({"metadata": {"annotations":
            {names::POLL_REQUESTED_ANNOTATION: value, names::RETRY_REQUESTED_ANNOTATION: "now"}}});
        let object = LeanObject::prune(&object, &FieldPaths::default());
        assert_eq!(object.poll_requested().map(str::len), Some(MAX_REQUEST_BYTES));
        assert_eq!(object.retry_requested(), Some("now"));
    }

    #[test]
    fn a_list_and_a_live_read_win_over_older_versions() {
        let at = |version: &str| {
            LeanObject::prune(&json!({"metadata": {"resourceVersion": version}}), &FieldPaths::default())
        };
        assert!(at("8").is_as_new_as(&at("7")) && at("7").is_as_new_as(&at("7")) && !at("6").is_as_new_as(&at("7")));
        assert!(at("6").listed_at("7").is_as_new_as(&at("7")), "the list is as new");
        assert!(at("5").listed_at("6").is_listed_before(&at("7")), "known is newer than the list");
        let live = at("5").read_after(&at("7"));
        assert!(live.is_as_new_as(&at("7")) && !live.is_as_new_as(&at("8")), "another state came meanwhile");
        assert!(at("6").is_as_new_as(&live), "what follows is judged by the state itself");
    }
}
