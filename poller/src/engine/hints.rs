//! The effect of a hint: objects that name the resource are polled soon.
//!
//! A sender of hints may be wrong, repeat itself or lie. So a poll keeps its distance from the last one, waits for the
//! target's read limits, and reports only what it reads.

pub mod authenticity;
mod named_objects;
pub mod watched_resources;

use std::collections::BTreeSet;

use drift_api::identity::Uid;
use drift_api::object::cluster_resource::ObjectName;
use drift_api::timing::moment::Moment;
use drift_language::{HintSource, Target};

use crate::engine::hints::named_objects::NamedObjects;
use crate::engine::hints::watched_resources::WatchedResources;
use crate::engine::object::object_store::ObjectStore;
use crate::engine::poll::request::{Prepared, Request};

/// A report of an external change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The resource with this identity may have changed.
    Resource(String),
    /// This cluster object changed. It may be the external resource of an object.
    ClusterObject(ObjectName),
    /// Hints for any resource may have been missed.
    Everything,
}

/// Outcome of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintOutcome {
    /// The object is polled soon.
    Polled,
    /// No object of the target has that resource.
    Unknown,
    /// The target's template extracts no identity from it.
    Unreadable,
    /// The limit of hints was exceeded.
    Dropped,
}

impl HintOutcome {
    /// Returns the label of the metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Polled => "polled",
            Self::Unknown => "unknown",
            Self::Unreadable => "unreadable",
            Self::Dropped => "dropped",
        }
    }
}

/// Hints of one target.
#[derive(Debug, Default)]
pub struct Hints {
    /// True if hints may have been missed for objects that are not listed yet.
    waits_for_list: bool,
    listed: bool,
    /// Watched resources, if their changes are hints.
    watched: Option<WatchedResources>,
    /// Changes before the first list, when the readers were unknown.
    early: BTreeSet<ObjectName>,
    /// Objects by identity, if external hints name identities.
    named: Option<NamedObjects>,
}

/// Maximum changes that are kept until the objects are listed, which takes seconds. With more changes, all objects
/// count as changed.
const EARLY_CHANGES: usize = 1_000;

impl Hints {
    /// Creates the hints of a target before its first list.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let names_identities = target.hints.iter().any(|hint| !matches!(hint, HintSource::Watch));
        Self {
            watched: target.watched_read().map(|_| WatchedResources::default()),
            named: names_identities.then(NamedObjects::default),
            ..Self::default()
        }
    }

    /// Takes in an object that is new or that may read another resource now.
    pub fn note_object(&mut self, objects: &mut ObjectStore, uid: &Uid, now: Moment) {
        if let Some(named) = &mut self.named {
            named.set(uid, objects.state(uid).and_then(|state| state.rendered().identity.clone()));
        }
        let Some(watched) = &mut self.watched else { return };
        let prepared = objects.prepare(uid);
        let resource = match prepared.as_deref().map(Prepared::first) {
            Some(Ok(Request::Kubernetes(resource))) => Some(resource),
            _ => None,
        };
        watched.set(uid, resource, now);
    }

    /// An object is gone or no longer selected.
    pub fn forget(&mut self, uid: &Uid) {
        if let Some(watched) = &mut self.watched {
            watched.remove(uid);
        }
        if let Some(named) = &mut self.named {
            named.set(uid, None);
        }
    }

    /// Handles a changed cluster object: its readers are polled when it is their turn. A poll that is already due will
    /// see this change too.
    pub fn take_change(&mut self, objects: &mut ObjectStore, changed: &ObjectName, now: Moment) -> HintOutcome {
        let Some(watched) = &mut self.watched else { return HintOutcome::Unknown };
        let readers = watched.readers_of(changed);
        for uid in &readers {
            if objects.state(uid).is_some_and(|state| !state.is_polled_soon(now)) {
                let wait = watched.take_turn(uid, now);
                objects.update(uid, now, |state| state.take_hint_after(wait, now));
            }
        }
        if readers.is_empty() && !self.listed {
            self.keep_early(changed);
        }
        if readers.is_empty() { HintOutcome::Unknown } else { HintOutcome::Polled }
    }

    fn keep_early(&mut self, changed: &ObjectName) {
        if self.early.len() < EARLY_CHANGES {
            self.early.insert(changed.clone());
        } else {
            self.waits_for_list = true;
        }
    }

    /// Handles a hint that the resource of an identity may have changed.
    pub fn take(&self, objects: &mut ObjectStore, identity: &str, now: Moment) -> HintOutcome {
        let mut outcome = HintOutcome::Unknown;
        for uid in self.named.iter().flat_map(|named| named.of(identity)) {
            objects.update(uid, now, |state| state.take_hint(now));
            outcome = HintOutcome::Polled;
        }
        outcome
    }

    /// Brings the regular polls of all objects forward, because hints may have been missed. Objects of the first list
    /// are included. There may be many, and an edit or another hint does not wait for them.
    pub fn take_everything(&mut self, objects: &mut ObjectStore, now: Moment) {
        self.waits_for_list = !self.listed;
        let uids: Vec<Uid> = objects.states().map(|state| state.object().id.uid.clone()).collect();
        for uid in uids {
            objects.update(&uid, now, |state| state.miss_hints(now));
        }
    }

    /// The target's first list is complete.
    pub fn note_listed(&mut self, objects: &mut ObjectStore, now: Moment) {
        self.listed = true;
        for changed in std::mem::take(&mut self.early) {
            self.take_change(objects, &changed, now);
        }
        if self.waits_for_list {
            self.take_everything(objects, now);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::engine::fixtures::{TEXT, at, object, target};
    use crate::engine::schedule::{Now, PROMPT_SPACING};

    /// Objects `u` and `v` with identities `one` and `two`, in sync and not due for a long time.
    fn objects() -> ObjectStore {
        let target = target(&TEXT.replace("interval: 30s", "interval: 24h"));
        let mut objects = ObjectStore::new(target.clone());
        for (uid, identity) in [("u", "one"), ("v", "two")] {
            objects.see(object(&target, uid, &json!({"id": identity, "a": 1}), &json!({})), at(0));
        }
        poll_all(&mut objects, at(0));
        objects
    }

    /// Marks all objects for a poll.
    fn poll_all(objects: &mut ObjectStore, now: Now) -> Vec<Uid> {
        while let Some(uid) = objects.pop_awake(now.moment) {
            objects.queue_poll(&uid);
        }
        let mut polled = Vec::new();
        while let Some(turn) = objects.next_poll(now.moment) {
            let begun = objects.begin_poll(&turn, now).unwrap();
            let finding = crate::engine::judgement::finding::Finding::InSync;
            objects.update(&turn.uid, now.moment, |state| state.finish_poll(begun, finding, now.moment));
            polled.push(turn.uid);
        }
        polled.sort();
        polled
    }

    /// Sends a hint about an identity after the objects were registered.
    fn hint(objects: &mut ObjectStore, identity: &str, now: Now) -> HintOutcome {
        let mut hints = Hints { named: Some(NamedObjects::default()), ..Hints::default() };
        for uid in ["u", "v"] {
            hints.note_object(objects, &uid.into(), now.moment);
        }
        hints.take(objects, identity, now.moment)
    }

    #[test]
    fn the_object_that_names_the_resource_is_polled_at_once() {
        let mut objects = objects();
        assert_eq!(hint(&mut objects, "two", at(5)), HintOutcome::Polled);
        assert_eq!(poll_all(&mut objects, at(5)), [Uid::from("v")]);
    }

    #[test]
    fn what_no_object_of_the_target_names_is_unknown() {
        let mut objects = objects();
        assert_eq!(hint(&mut objects, "three", at(5)), HintOutcome::Unknown);
        assert!(poll_all(&mut objects, at(5)).is_empty());
    }

    #[test]
    fn a_storm_of_hints_is_one_poll_a_second() {
        let mut objects = objects();
        let mut polls = 0;
        for millisecond in 0..5_000 {
            let now = at(5).after(Duration::from_millis(millisecond));
            hint(&mut objects, "one", now);
            polls += poll_all(&mut objects, now).len();
        }
        assert_eq!(polls, 5);
        let after = at(10).after(PROMPT_SPACING);
        assert_eq!(poll_all(&mut objects, after).len(), 1, "the last of them is not lost");
    }

    #[test]
    fn a_change_before_the_list_is_kept_for_its_reader() {
        let read = "read: {kubernetes: {apiVersion: apps/v1, kind: StatefulSet, name: \"${self.spec.id}\"}}";
        let text = TEXT
            .replace("interval: 30s", "interval: 24h")
            .replace("read: {http: {url: \"http://h/${self.spec.id}\"}}", &format!("{read}\n  hints: {{watch: true}}"));
        let target = target(&text);
        let (mut objects, mut hints) = (ObjectStore::new(target.clone()), Hints::of(&target));
        let changed = |name: &str| ObjectName { namespace: None, name: name.to_owned() };
        assert_eq!(hints.take_change(&mut objects, &changed("one"), at(0).moment), HintOutcome::Unknown);
        for (uid, identity) in [("u", "one"), ("v", "two")] {
            objects.see(object(&target, uid, &json!({"id": identity, "a": 1}), &json!({})), at(0));
            hints.note_object(&mut objects, &uid.into(), at(0).moment);
        }
        poll_all(&mut objects, at(0));
        hints.note_listed(&mut objects, at(5).moment);
        assert_eq!(poll_all(&mut objects, at(5)), [Uid::from("u")], "the other one does not read it");
        assert_eq!(hints.take_change(&mut objects, &changed("three"), at(6).moment), HintOutcome::Unknown);
        hints.note_listed(&mut objects, at(7).moment);
        assert!(poll_all(&mut objects, at(9)).is_empty());
    }

    #[test]
    fn what_was_missed_waits_behind_what_is_told() {
        let mut objects = objects();
        Hints::default().take_everything(&mut objects, at(5).moment);
        hint(&mut objects, "two", at(5));
        while let Some(uid) = objects.pop_awake(at(5).moment) {
            objects.queue_poll(&uid);
        }
        let order: Vec<_> = std::iter::from_fn(|| objects.next_poll(at(5).moment)).map(|turn| turn.uid).collect();
        assert_eq!(order, [Uid::from("v"), Uid::from("u")]);
    }

    #[test]
    fn what_was_missed_before_the_list_is_polled_after_it() {
        let mut objects = objects();
        let mut hints = Hints::default();
        hints.take_everything(&mut objects, at(5).moment);
        assert_eq!(poll_all(&mut objects, at(5)).len(), 2);
        hints.note_listed(&mut objects, at(7).moment);
        assert_eq!(poll_all(&mut objects, at(7)).len(), 2);
        hints.note_listed(&mut objects, at(9).moment);
        assert!(poll_all(&mut objects, at(9)).is_empty(), "they were polled already");
        let mut early = Hints::default();
        early.note_listed(&mut objects, at(11).moment);
        assert!(poll_all(&mut objects, at(11)).is_empty(), "nothing was missed");
    }
}
