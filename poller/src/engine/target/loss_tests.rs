//! Absence of all found resources of a target, decided by its engine over time.

use std::collections::BTreeMap;

use drift_api::names::RETRY_REQUESTED_ANNOTATION;
use drift_api::object::LeanObject;
use serde_json::{Value, json};

use super::tests::Alone;
use crate::engine::effect::Effect;
use crate::engine::fixtures::{TEXT, at, condition_in, target};
use crate::engine::input::{EndedWrite, Input, PollResult};
use crate::engine::judgement::finding::Finding;
use crate::engine::target::Target;
use crate::engine::writes::write_attempts::WriteOutcome;
use drift_api::condition::ObservedReason::PollTimedOut;
use std::sync::Arc;
use std::time::Duration;

/// A target's engine, the objects at the API server, and their resources.
struct Scene {
    engine: Target<Alone>,
    text: Arc<drift_language::Target>,
    objects: BTreeMap<String, Value>,
    found: BTreeMap<String, Finding>,
    second: u64,
    writes: usize,
}

impl Scene {
    /// Objects in sync.
    fn new(names: &[&str]) -> Self {
        let mut scene = Self::of(names.iter().map(|name| ((*name).to_owned(), object(name))).collect());
        names.iter().for_each(|name| scene.finds(name, Finding::InSync));
        scene.run(40);
        assert_eq!(scene.reasons(), vec!["InSync"; names.len()]);
        scene
    }

    fn of(objects: BTreeMap<String, Value>) -> Self {
        Self::with(TEXT, objects)
    }

    fn with(text: &str, objects: BTreeMap<String, Value>) -> Self {
        let text = target(text);
        let engine = Target::new(text.clone(), Alone::default());
        let mut scene = Self { engine, text, objects, found: BTreeMap::new(), second: 1, writes: 0 };
        let names: Vec<String> = scene.objects.keys().cloned().collect();
        names.iter().for_each(|name| scene.show(name));
        scene.step(Input::Listed);
        scene
    }

    /// The same objects and resources with a new process.
    fn restarted(self) -> Self {
        Self { found: self.found, second: self.second, ..Self::of(self.objects) }
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        self.engine.step(at(self.second), input)
    }

    fn lean(&self, name: &str) -> LeanObject {
        LeanObject::prune(&self.objects[name], &self.text.poll_fields)
    }

    fn show(&mut self, name: &str) {
        let seen = Box::new(self.lean(name));
        self.step(Input::Seen(seen));
    }

    fn finds(&mut self, name: &str, finding: Finding) {
        self.found.insert(name.to_owned(), finding);
    }

    fn find_nothing(&mut self) {
        self.found.values_mut().for_each(|finding| *finding = Finding::Absent);
    }

    /// Changes an object as its owner does.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let object = self.objects.get_mut(name).unwrap();
        change(object);
        let version: u64 = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        object["metadata"]["resourceVersion"] = (version + 1).to_string().into();
        self.show(name);
    }

    fn retry(&mut self, name: &str, value: &str) {
        self.change(name, |object| object["metadata"]["annotations"] = json!({RETRY_REQUESTED_ANNOTATION: value}));
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.second += 1;
            for effect in self.step(Input::Tick) {
                match effect {
                    Effect::Poll(order) => {
                        let found = Ok(self.found[&*order.uid].clone().into());
                        let (uid, begun, took) = (order.uid.clone(), order.begun, Duration::ZERO);
                        let result = PollResult { uid, begun, found, pause: None, tagged: None, known: None, took };
                        self.step(Input::PollEnded(Box::new(result)));
                    }
                    Effect::Write(update) => {
                        self.writes += 1;
                        let name = update.object.id.name.to_string();
                        let condition = condition_in(&update.patch).to_json();
                        self.change(&name, |object| object["status"]["conditions"] = json!([condition]));
                        let object = Some(self.lean(&name));
                        let ended = EndedWrite { before: update.object, object, outcome: WriteOutcome::Written };
                        self.step(Input::WriteEnded(Box::new(ended)));
                    }
                    _ => {}
                }
            }
        }
    }

    fn condition(&self, name: &str) -> &Value {
        &self.objects[name]["status"]["conditions"][0]
    }

    fn reasons(&self) -> Vec<&str> {
        self.objects.keys().map(|name| self.condition(name)["reason"].as_str().unwrap_or_default()).collect()
    }

    fn message(&self, name: &str) -> &str {
        self.condition(name)["message"].as_str().unwrap_or_default()
    }
}

fn object(name: &str) -> Value {
    let metadata = json!({"uid": name, "name": name, "resourceVersion": "1", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z"});
    json!({"metadata": metadata, "spec": {"id": name, "a": 1}, "status": {}})
}

#[test]
fn the_loss_of_all_is_unknown_until_one_is_found() {
    for names in [&["a", "b"][..], &["a", "b", "c"]] {
        let mut scene = Scene::new(names);
        scene.find_nothing();
        scene.run(200);
        assert_eq!(scene.reasons(), vec!["AllMissing"; names.len()]);
        let writes = scene.writes;
        scene.run(300);
        assert_eq!(scene.writes, writes, "a steady state causes no writes");
        scene.finds("a", Finding::InSync);
        scene.run(60);
        let expected: Vec<&str> = std::iter::once("InSync").chain(vec!["ExternalMissing"; names.len() - 1]).collect();
        assert_eq!(scene.reasons(), expected);
    }
}

#[test]
fn another_account_proves_no_loss() {
    let list =
        "credentials: [{namespaces: [one], secretRef: {name: one}}, {namespaces: [two], secretRef: {name: two}}]";
    let read = format!("read: {{http: {{url: 'https://h/${{self.spec.id}}', auth: {{bearer: {{{list}}}}}}}}}");
    let text = TEXT.replace("read: {http: {url: \"http://h/${self.spec.id}\"}}", &read);
    assert_ne!(text, TEXT);
    let objects = [("a", "one"), ("b", "one"), ("c", "two"), ("d", "two")].map(|(name, namespace)| {
        let mut object = object(name);
        object["metadata"]["namespace"] = namespace.into();
        (name.to_owned(), object)
    });
    let mut scene = Scene::with(&text, objects.into());
    ["a", "b", "c", "d"].iter().for_each(|name| scene.finds(name, Finding::InSync));
    scene.run(40);
    ["c", "d"].iter().for_each(|name| scene.finds(name, Finding::Absent));
    scene.run(200);
    assert_eq!(scene.reasons(), ["InSync", "InSync", "AllMissing", "AllMissing"]);
    scene.finds("c", Finding::InSync);
    scene.run(60);
    assert_eq!(scene.reasons(), ["InSync", "InSync", "InSync", "ExternalMissing"]);
}

#[test]
fn the_loss_of_one_is_drift() {
    for (names, expected) in [(&["a", "b"][..], vec!["ExternalMissing", "InSync"]), (&["a"], vec!["ExternalMissing"])] {
        let mut scene = Scene::new(names);
        scene.finds("a", Finding::Absent);
        scene.run(40);
        assert_eq!(scene.reasons(), expected);
    }
}

#[test]
fn new_objects_neither_hold_nor_are_held() {
    let mut scene = Scene::new(&["a", "b"]);
    scene.find_nothing();
    scene.run(200);
    scene.finds("c", Finding::Absent);
    scene.objects.insert("c".to_owned(), object("c"));
    scene.show("c");
    scene.run(60);
    assert_eq!(scene.reasons(), ["AllMissing", "AllMissing", "NotCreated"]);
    let mut fresh = Scene::of(["a", "b"].map(|name| (name.to_owned(), object(name))).into());
    ["a", "b"].iter().for_each(|name| fresh.finds(name, Finding::Absent));
    fresh.run(60);
    assert_eq!(fresh.reasons(), ["NotCreated", "NotCreated"]);
}

#[test]
fn a_failed_read_proves_nothing() {
    let mut scene = Scene::new(&["a", "b"]);
    scene.finds("a", Finding::Absent);
    scene.finds("b", Finding::from(PollTimedOut));
    scene.run(200);
    assert_eq!(scene.reasons(), ["AllMissing", "PollTimedOut"]);
    scene.finds("b", Finding::Differs("x".into()));
    scene.run(60);
    assert_eq!(scene.reasons(), ["ExternalMissing", "FieldsDiffer"]);
}

#[test]
fn an_edit_does_not_end_the_hold() {
    let mut scene = Scene::new(&["a", "b"]);
    let edit = |object: &mut Value| (object["metadata"]["generation"], object["spec"]["a"]) = (json!(2), json!(2));
    scene.find_nothing();
    ["a", "b"].iter().for_each(|name| scene.change(name, edit));
    scene.run(200);
    assert_eq!(scene.reasons(), ["AllMissing", "AllMissing"]);
    assert!(scene.message("a").contains(", found"), "{}", scene.message("a"));
    let mut scene = scene.restarted();
    scene.run(100);
    assert_eq!(scene.reasons(), ["AllMissing", "AllMissing"], "the tags remember");
    scene.finds("a", Finding::InSync);
    scene.run(60);
    assert_eq!(scene.reasons(), ["InSync", "NotCreated"]);
}

#[test]
fn a_restart_holds_what_was_in_sync_before() {
    let mut scene = Scene::new(&["a", "b"]);
    scene.find_nothing();
    let mut scene = scene.restarted();
    scene.run(200);
    assert_eq!(scene.reasons(), ["AllMissing", "AllMissing"]);
}

#[test]
fn a_retry_confirms_one_loss() {
    for value in ["now", "2100-01-01T00:00:00Z"] {
        let mut scene = Scene::new(&["a", "b", "c"]);
        scene.find_nothing();
        scene.run(200);
        scene.retry("b", "2020-01-01T00:00:00Z");
        scene.run(60);
        assert_eq!(scene.reasons(), ["AllMissing"; 3], "a time before the verdict");
        scene.retry("b", value);
        scene.run(10);
        assert_eq!(scene.reasons(), ["AllMissing", "ExternalMissing", "AllMissing"]);
        scene.run(100);
        assert_eq!(scene.reasons(), ["AllMissing", "ExternalMissing", "AllMissing"], "and stays confirmed");
        scene.finds("b", Finding::InSync);
        scene.run(10);
        assert_eq!(scene.reasons(), ["ExternalMissing", "InSync", "ExternalMissing"]);
    }
}

#[test]
fn a_failed_poll_leaves_the_confirmation() {
    let mut scene = Scene::new(&["a", "b"]);
    scene.find_nothing();
    scene.run(200);
    scene.finds("b", Finding::from(PollTimedOut));
    scene.retry("b", "now");
    scene.run(100);
    assert_eq!(scene.reasons(), ["AllMissing", "PollTimedOut"]);
    scene.finds("b", Finding::Absent);
    scene.run(100);
    assert_eq!(scene.reasons(), ["AllMissing", "ExternalMissing"]);
}

#[test]
fn a_replacement_is_no_loss() {
    let mut scene = Scene::new(&["a", "b"]);
    for name in ["a", "b"] {
        scene.change(name, |object| {
            let record = json!({"type": "driftCorrected", "status": "Unknown", "reason": "CorrectionStarted",
                "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
                "message": format!("correction 1, owns \"{name}\": deleted [scope 3f2a9c71, replaced]")});
            object["status"]["conditions"].as_array_mut().unwrap().push(record);
        });
    }
    scene.find_nothing();
    for _ in 0..60 {
        scene.run(1);
        if !scene.reasons().contains(&"InSync") {
            break;
        }
    }
    assert_eq!(scene.reasons(), ["ExternalMissing", "ExternalMissing"]);
}
