//! Random histories of a target's objects: whenever the target is attested, no True stands that is not this process's
//! own word, but on the objects that are excepted; only what stood so from the start keeps back others; and once every
//! object could be polled, it is attested whole.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use drift_api::attestation::Exceptions;
use drift_api::condition::{ConditionStatus, DesiredHash, ObservedReason, PatchBase, StatusFields, condition_patch};
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_language::Target;
use drift_poller::engine::judgement::finding::Finding;
use drift_poller::engine::object::object_state::NextWrite;
use drift_poller::engine::object::object_store::{ObjectStore, WATCH_ALIVE_FOR};
use drift_poller::engine::schedule::Now;
use drift_poller::engine::writes::write_attempts::WriteOutcome;
use proptest::prelude::*;
use serde_json::{Value, json};

const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy}
  identity: "${self.metadata.name}"
  interval: 30s
  confirm: {drift: 1, absent: 1, unknown: 1}
  read: {http: {url: "http://h/x"}}
  compare: {desired: {a: "${self.spec.a}"}}
"#;

#[derive(Clone, Copy, Debug)]
enum CurrentVerdict {
    Nothing,
    True,
    False,
    /// In sync with what another text of the target asked for.
    OfAnotherDesired,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// An object comes into sight as an earlier process left it, or as a person relabelled it.
    Arrives(u8, CurrentVerdict),
    Leaves(u8),
    /// Another writer says that it is drifted.
    Forged(u8),
    Listed,
    /// A poll of it, if one is due, and the write of what it found.
    Polled(u8, Found),
    Edited(u8),
    Passes(u64),
    Alive,
}

#[derive(Clone, Copy, Debug)]
enum Found {
    InSync,
    Differs,
    Failed,
}

const OBJECTS: u8 = 4;

fn events() -> impl Strategy<Value = Vec<Event>> {
    let current = prop_oneof![
        Just(CurrentVerdict::Nothing),
        Just(CurrentVerdict::True),
        Just(CurrentVerdict::False),
        Just(CurrentVerdict::OfAnotherDesired)
    ];
    let found = prop_oneof![Just(Found::InSync), Just(Found::Differs), Just(Found::Failed)];
    let event = prop_oneof![
        4 => (0..OBJECTS, current).prop_map(|(object, current)| Event::Arrives(object, current)),
        1 => (0..OBJECTS).prop_map(Event::Leaves),
        3 => (0..OBJECTS).prop_map(Event::Forged),
        2 => Just(Event::Listed),
        8 => (0..OBJECTS, found).prop_map(|(object, found)| Event::Polled(object, found)),
        1 => (0..OBJECTS).prop_map(Event::Edited),
        2 => (1..90_u64).prop_map(Event::Passes),
        2 => Just(Event::Alive),
    ];
    proptest::collection::vec(event, 1..80)
}

struct World {
    target: Arc<Target>,
    store: ObjectStore,
    /// Each object in sight, and whether what stands on it is this process's own word.
    objects: BTreeMap<u8, (Value, bool)>,
    /// Objects that were polled since they came into sight.
    polled: BTreeSet<u8>,
    /// Objects that another's verdict stood on when the first list came, until this process's own word stands.
    awaited: BTreeSet<u8>,
    now: Now,
    listed: bool,
    heard: Option<Moment>,
    versions: u64,
}

impl World {
    fn new() -> Self {
        static TARGET: LazyLock<Arc<Target>> = LazyLock::new(|| Arc::new(drift_language::fixtures::target(TEXT)));
        let target = TARGET.clone();
        let now = Now { moment: Moment::START, wall: Duration::from_secs(1_700_000_000) };
        let store = ObjectStore::new(target.clone());
        Self {
            target,
            store,
            objects: BTreeMap::new(),
            polled: BTreeSet::new(),
            awaited: BTreeSet::new(),
            now,
            listed: false,
            heard: None,
            versions: 1,
        }
    }

    fn lean(&self, object: &Value) -> LeanObject {
        LeanObject::prune(object, &self.target.poll_fields)
    }

    /// The object store sees the object as it is now, in a new version.
    fn show(&mut self, number: u8) {
        self.versions += 1;
        let version = self.versions.to_string();
        let Some((object, _)) = self.objects.get_mut(&number) else { return };
        object["metadata"]["resourceVersion"] = json!(version);
        let object = object.clone();
        self.store.see(self.lean(&object), self.now, |_| true);
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Arrives(number, current) if !self.objects.contains_key(&number) => {
                self.objects.insert(number, (left_behind(number, current), false));
                // What comes after the first list is its own affair, whatever its verdict speaks of.
                let is_awaited = match current {
                    CurrentVerdict::Nothing => false,
                    CurrentVerdict::True | CurrentVerdict::False | CurrentVerdict::OfAnotherDesired => !self.listed,
                };
                if is_awaited {
                    self.awaited.insert(number);
                }
                self.show(number);
            }
            Event::Arrives(..) => {}
            Event::Forged(number) => {
                if let Some((object, own)) = self.objects.get_mut(&number) {
                    object["status"] = entry("True", "FieldsDiffer", &desired_hash(number));
                    *own = false;
                    self.polled.remove(&number);
                    self.show(number);
                }
            }
            Event::Leaves(number) => {
                self.objects.remove(&number);
                self.polled.remove(&number);
                self.awaited.remove(&number);
                self.store.forget(&uid(number));
            }
            Event::Listed => {
                self.listed = true;
                self.heard = Some(self.now.moment);
                self.store.note_listed(self.now.moment);
            }
            Event::Polled(number, found) => self.poll(number, found),
            Event::Edited(number) => {
                if let Some((object, _)) = self.objects.get_mut(&number) {
                    let generation = object["metadata"]["generation"].as_i64().unwrap() + 1;
                    object["metadata"]["generation"] = json!(generation);
                    object["spec"]["a"] = json!(generation);
                    self.show(number);
                }
            }
            Event::Passes(seconds) => self.now = self.now.after(Duration::from_secs(seconds)),
            Event::Alive => {
                self.heard = Some(self.now.moment);
                self.store.note_alive(self.now.moment);
            }
        }
    }

    fn poll(&mut self, number: u8, found: Found) {
        let (uid, now) = (uid(number), self.now);
        let due = self.store.state(&uid).and_then(|state| state.poll_due());
        if due.is_some_and(|due| due <= now.moment) {
            let finding = match found {
                Found::InSync => Finding::InSync,
                Found::Differs => Finding::Differs("1 field differs: /a".into()),
                Found::Failed => Finding::from(ObservedReason::PollTimedOut),
            };
            let begun = self.store.update(&uid, now.moment, |state| state.begin_poll(now)).unwrap();
            self.store.update(&uid, now.moment, |state| state.finish_poll(begun, finding, now.moment));
            self.polled.insert(number);
        }
        self.write(number);
    }

    /// What the shell does with what the engine wants written.
    fn write(&mut self, number: u8) {
        let (uid, now) = (uid(number), self.now.moment);
        match self.store.update(&uid, now, |state| state.next_write(now)) {
            Some(NextWrite::Write(verdict, urgency)) => {
                let begin = |state: &mut drift_poller::engine::object::object_state::ObjectState| {
                    state.begin_write(&verdict, urgency, now, "2026-01-01T00:00:00Z").condition
                };
                let condition = self.store.update(&uid, now, begin).unwrap();
                let (object, own) = self.objects.get_mut(&number).unwrap();
                let before = LeanObject::prune(object, &self.target.poll_fields);
                let base = PatchBase {
                    uid: &before.id.uid,
                    resource_version: &before.resource_version,
                    generation: before.generation,
                    conditions: &before.conditions,
                };
                let patch =
                    condition_patch(&base, before.conditions.observed.as_ref(), &condition, &StatusFields::NONE);
                json_patch::patch(object, &patch).unwrap();
                *own = true;
                self.awaited.remove(&number);
                self.show(number);
                self.store.update(&uid, now, |state| state.finish_write(&WriteOutcome::Written, now));
                self.store.update(&uid, now, |state| state.next_write(now));
            }
            // A poll of this process found what stands.
            Some(NextWrite::Nothing) if self.polled.contains(&number) => {
                self.objects.entry(number).and_modify(|(_, own)| *own = true);
                self.awaited.remove(&number);
            }
            _ => {}
        }
    }

    /// Objects that stand True on another's word.
    fn stale(&self) -> BTreeSet<Uid> {
        let stands_true = |object: &Value| {
            self.lean(object).conditions.observed().is_some_and(|condition| condition.status == ConditionStatus::True)
        };
        let stale = self.objects.iter().filter(|(_, (object, own))| !own && stands_true(object));
        stale.map(|(number, _)| uid(*number)).collect()
    }

    fn attested_except(&self) -> Option<Exceptions> {
        self.store.attested_except(self.now.moment)
    }
}

fn uid(number: u8) -> Uid {
    Uid::from(format!("u{number}").as_str())
}

/// What an object asks for before it is edited.
fn desired_hash(number: u8) -> DesiredHash {
    DesiredHash::of(&json!([format!("u{number}"), {"a": 1}]))
}

fn entry(status: &str, reason: &str, desired_hash: &DesiredHash) -> Value {
    json!({"conditions": [{"type": "driftObserved", "status": status, "reason": reason, "observedGeneration": 1,
        "message": format!("an earlier word [desired {desired_hash}]"), "lastTransitionTime": "2026-01-01T00:00:00Z"}]})
}

fn left_behind(number: u8, current: CurrentVerdict) -> Value {
    let status = match current {
        CurrentVerdict::Nothing => json!({}),
        CurrentVerdict::True => entry("True", "FieldsDiffer", &desired_hash(number)),
        CurrentVerdict::False => entry("False", "InSync", &desired_hash(number)),
        CurrentVerdict::OfAnotherDesired => entry("False", "InSync", &DesiredHash::of(&json!("another"))),
    };
    let name = format!("u{number}");
    let metadata = json!({"uid": name, "name": name, "resourceVersion": "1", "generation": 1});
    json!({"metadata": metadata, "spec": {"a": 1}, "status": status})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_attested_for_is_this_process_own_word(history in events()) {
        let mut world = World::new();
        for event in history {
            world.apply(event);
            let silent_for = world.heard.map(|heard| world.now.moment - heard);
            let known = world.listed && silent_for.is_some_and(|span| span <= WATCH_ALIVE_FOR);
            let attested = world.attested_except();
            if known && world.awaited.is_empty() {
                prop_assert!(attested.is_some(), "an object keeps back others: {:?}", world.stale());
            }
            if let Some(except) = attested {
                prop_assert!(known, "listed: {}, silent for {silent_for:?}", world.listed);
                let stale = world.stale();
                prop_assert!(stale.is_subset(&except.objects), "{stale:?} stand True on another's word, not in {except:?}");
            }
        }
        // Once everybody could be polled and the watches live, it is attested.
        world.apply(Event::Listed);
        for _ in 0..3 {
            world.apply(Event::Passes(60));
            (0..OBJECTS).for_each(|number| world.apply(Event::Polled(number, Found::Differs)));
        }
        world.apply(Event::Alive);
        prop_assert_eq!(world.attested_except(), Some(Exceptions::default()), "never attested: {:?}", world.stale());
    }
}
