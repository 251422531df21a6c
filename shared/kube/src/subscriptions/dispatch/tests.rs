use std::collections::BTreeSet;

use super::telling::ALIVE_SPACING;
use super::*;
use drift_api::names::FINALIZER;
use drift_api::object::LeanObject;
use drift_api::object::object_view::ObjectView;
use drift_api::object::report::{SeenReport, report_fields, report_name};
use drift_api::resource_version::VersionNumber;
use drift_language::ConditionsPlace;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A dispatch, and its reports about each target.
struct Bench {
    dispatch: Dispatch,
    active: BTreeMap<Arc<str>, ObjectSelection>,
    /// The followed collections: number, namespace, fields.
    followed: BTreeMap<usize, (Option<String>, FieldPaths)>,
    now: Moment,
    last_id: u64,
}

fn selection(namespaces: &[&str], labels: &str) -> ObjectSelection {
    let text = format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: a}}\nspec:\n  objects: {{apiVersion: demo.example/v1, kind: Proxy, namespaces: {}, labelSelector: {labels:?}}}\n  identity: x\n  read: {{http: {{url: 'http://h.example/'}}}}\n  compare: {{desired: {{a: 1}}}}\n",
        json!(namespaces)
    );
    let text = if labels.is_empty() { text.replace(", labelSelector: \"\"", "") } else { text };
    let text = if namespaces.is_empty() { text.replace(", namespaces: []", "") } else { text };
    drift_language::fixtures::target(&text).objects
}

fn fields(of: &[&str]) -> FieldPaths {
    let mut fields = FieldPaths::default();
    of.iter().for_each(|field| fields.insert(vec!["spec".to_owned(), (*field).to_owned()]));
    fields
}

fn seen(name: &str, version: u64, labels: &Value) -> SeenObject {
    seen_in("a", name, version, labels)
}

fn seen_in(namespace: &str, name: &str, version: u64, labels: &Value) -> SeenObject {
    let object = json!({"spec": {"x": 1, "y": version}, "metadata": {"namespace": namespace, "name": name, "uid": name,
        "resourceVersion": version.to_string(), "labels": labels}});
    SeenObject { object: LeanObject::prune(&object, &fields(&["x", "y"])), labels: Some(labels.clone()) }
}

impl Bench {
    fn new() -> Self {
        let (active, followed) = (BTreeMap::new(), BTreeMap::new());
        Self { dispatch: Dispatch::default(), active, followed, now: Moment::START, last_id: 0 }
    }

    /// Activates and subscribes a target.
    fn begin(&mut self, target: &str, selection: ObjectSelection, fields: FieldPaths) {
        self.active.insert(target.into(), selection.clone());
        self.dispatch.set_active(self.active.clone());
        let resource = kube::core::ApiResource {
            group: "demo.example".to_owned(),
            version: "v1".to_owned(),
            api_version: "demo.example/v1".to_owned(),
            kind: "Proxy".to_owned(),
            plural: "proxies".to_owned(),
        };
        self.last_id += 1;
        let kind = ResolvedKind { resource, namespaced: true };
        self.dispatch.subscribe(Subscriber { target: target.into(), id: self.last_id, kind, selection, fields });
    }

    fn end(&mut self, target: &str, is_removed: bool) {
        if is_removed {
            self.active.remove(target);
            self.dispatch.set_active(self.active.clone());
        }
        let id = self.dispatch.members.get(target).map_or(0, |member| member.subscriber.id);
        self.dispatch.unsubscribe(&target.into(), id);
    }

    fn arrange(&mut self) -> Vec<String> {
        let effects = self.dispatch.arrange();
        self.words(effects)
    }

    fn hear(&mut self, number: usize, change: Change<SeenObject>) -> Vec<String> {
        let effects = self.dispatch.hear(number, change, self.now);
        self.words(effects)
    }

    /// A whole list of the only followed collection.
    fn list(&mut self, objects: &[SeenObject]) -> Vec<String> {
        let number = *self.followed.keys().next().unwrap();
        let mut words = self.hear(number, Change::ListBegan);
        for object in objects {
            words.extend(self.hear(number, Change::Found(object.clone(), "90".to_owned())));
        }
        words.extend(self.hear(number, Change::ListEnded("90".to_owned())));
        words.retain(|word| !word.ends_with("alive"));
        words
    }

    fn change(&mut self, object: SeenObject) -> Vec<String> {
        let number = *self.followed.keys().next().unwrap();
        let mut words = self.hear(number, Change::Changed(object));
        words.retain(|word| !word.ends_with("alive"));
        words
    }

    fn words(&mut self, Effects { words, orphans, commands }: Effects) -> Vec<String> {
        let told = words.into_iter().map(|(target, event)| match event {
            ObjectEvent::Seen(object) if object.oversize.is_some() => format!("{target} seen {} empty", object.id.name),
            ObjectEvent::Seen(object) => {
                let report = object.report.as_ref().map(|report| report.stored.is_some());
                let report = report.map_or("", |is_there| if is_there { " with report" } else { " without report" });
                format!("{target} seen {}{report}", object.id.name)
            }
            ObjectEvent::Reported(uid, report) => {
                let is_there = report.state.stored.is_some();
                format!("{target} reported {uid}{}", if is_there { "" } else { " gone" })
            }
            ObjectEvent::Skipped(object) => format!("{target} skips {}", object.id.name),
            ObjectEvent::Left(uid) => format!("{target} left {uid}"),
            ObjectEvent::Listed => format!("{target} listed"),
            ObjectEvent::Alive { .. } => format!("{target} alive"),
        });
        let mut words: Vec<String> = told.collect();
        words.extend(orphans.iter().map(|Orphan { object, has_left, .. }| {
            format!("orphan {}{}", object.id.name, if *has_left { " left" } else { "" })
        }));
        for command in commands {
            words.push(match command {
                Command::Follow { number, namespace, fields, .. } => {
                    let word = format!("follow {}", namespace.as_deref().unwrap_or("all"));
                    self.followed.insert(number, (namespace, fields));
                    word
                }
                Command::Cease(number) => {
                    let (namespace, _) = self.followed.remove(&number).unwrap();
                    format!("cease {}", namespace.as_deref().unwrap_or("all"))
                }
                Command::Trouble(target, text) => format!("{target} trouble {}", text.unwrap_or_default()),
                Command::Hush(target) => format!("{target} hush"),
                Command::Arrange => "arrange".to_owned(),
            });
        }
        words
    }
}

fn tier(tier: &str) -> Value {
    json!({"tier": tier})
}

#[test]
fn targets_of_one_kind_share_one_watch() {
    let mut bench = Bench::new();
    bench.begin("a", selection(&["a"], "tier=1"), fields(&["x"]));
    bench.begin("b", selection(&["a"], "tier=2"), fields(&["y"]));
    assert_eq!(bench.arrange(), ["follow a"]);
    assert_eq!(bench.followed.values().next().unwrap().1, fields(&["x", "y"]));
    let told = bench.list(&[seen("p", 1, &tier("1")), seen("q", 1, &tier("2")), seen("r", 1, &tier("3"))]);
    assert_eq!(told, ["a seen p", "b seen q", "a listed", "b listed"]);
    bench.begin("c", selection(&[], ""), fields(&["x"]));
    assert_eq!(bench.arrange(), ["follow all", "cease a"], "all namespaces have one watch");
    // Objects that a and b already know are not delivered again.
    let told = bench.list(&[seen("p", 1, &tier("1")), seen("q", 1, &tier("2")), seen("r", 1, &tier("3"))]);
    assert_eq!(told, ["c skips p", "c skips q", "c seen r", "c listed"]);
    for target in ["a", "b", "c"] {
        bench.end(target, true);
    }
    assert_eq!(bench.arrange(), ["cease all"]);
}

#[test]
fn an_edit_that_only_another_reads_shows_nothing() {
    let mut bench = Bench::new();
    bench.begin("a", selection(&[], "tier=1"), fields(&["x"]));
    bench.begin("b", selection(&[], "tier=2"), fields(&["y"]));
    bench.arrange();
    let number = *bench.followed.keys().next().unwrap();
    let mut views = Vec::new();
    for version in [1, 2] {
        let effects = bench.dispatch.hear(number, Change::Changed(seen("p", version, &tier("1"))), bench.now);
        views.extend(effects.words.into_iter().filter_map(|(_, event)| match event {
            ObjectEvent::Seen(object) => Some(object.view),
            _ => None,
        }));
    }
    assert_eq!(views, vec![ObjectView::of(&json!({"spec": {"x": 1}})); 2]);
}

#[test]
fn the_next_target_gets_the_objects_of_the_first() {
    let mut bench = Bench::new();
    bench.begin("a", selection(&[], "tier"), fields(&["x"]));
    bench.begin("b", selection(&[], ""), fields(&["x"]));
    bench.arrange();
    let object = || seen("p", 1, &tier("1"));
    assert_eq!(bench.list(&[object()]), ["a seen p", "b skips p", "a listed", "b listed"]);
    assert_eq!(bench.change(object()), ["a seen p"], "skipping is told once");
    bench.end("a", false);
    assert!(bench.arrange().is_empty());
    assert!(bench.change(object()).is_empty(), "it is a's while a restarts");
    bench.begin("a", selection(&[], "tier"), fields(&["x"]));
    assert_eq!(bench.arrange(), ["cease all", "follow all"]);
    assert_eq!(bench.list(&[object()]), ["a seen p", "a listed"]);
    bench.end("a", true);
    assert_eq!(bench.arrange(), ["cease all", "follow all"]);
    assert_eq!(bench.list(&[object()]), ["b seen p"]);
}

#[test]
fn an_object_that_changes_its_labels_changes_hands() {
    let mut bench = Bench::new();
    bench.begin("a", selection(&[], "tier=1"), fields(&["x"]));
    bench.begin("b", selection(&[], "tier=2"), fields(&["x"]));
    bench.arrange();
    bench.list(&[]);
    assert_eq!(bench.change(seen("p", 1, &tier("1"))), ["a seen p"]);
    assert_eq!(bench.change(seen("p", 2, &tier("2"))), ["b seen p", "a left p"]);
    assert_eq!(bench.change(seen("p", 3, &tier("3"))), ["b left p", "orphan p left"]);
    assert!(bench.change(seen("p", 4, &tier("3"))).is_empty());
    let mut held = seen("p", 5, &tier("3"));
    held.object.finalizers = [FINALIZER.into()].into();
    assert_eq!(bench.change(held), ["orphan p"], "a finalizer of ours is left");
}

#[test]
fn what_a_list_lacks_is_gone() {
    let mut bench = Bench::new();
    bench.begin("a", selection(&[], ""), fields(&["x"]));
    bench.arrange();
    let all = [seen("p", 1, &Value::Null), seen("q", 1, &Value::Null)];
    assert_eq!(bench.list(&all), ["a seen p", "a seen q", "a listed"]);
    assert_eq!(bench.change(seen("r", 2, &Value::Null)), ["a seen r"]);
    assert_eq!(bench.list(&all[..1]).iter().filter(|word| word.starts_with("a left")).count(), 2);
    let number = *bench.followed.keys().next().unwrap();
    assert_eq!(bench.hear(number, Change::Deleted(all[0].clone()))[0], "a left p");
}

#[test]
fn each_target_counts_its_own_namespaces() {
    let mut bench = Bench::new();
    bench.begin("a", selection(&["a"], ""), fields(&["x"]));
    bench.begin("b", selection(&["a", "b"], ""), fields(&["x"]));
    assert_eq!(bench.arrange(), ["follow a", "follow b"]);
    bench.hear(1, Change::ListBegan);
    assert_eq!(bench.hear(1, Change::ListEnded("90".to_owned())), ["a listed", "a alive"]);
    bench.hear(2, Change::ListBegan);
    assert_eq!(bench.hear(2, Change::ListEnded("90".to_owned())), ["b listed", "b alive"]);
    assert_eq!(bench.hear(2, Change::Failing("no".to_owned())), ["b trouble cannot watch proxies: no"]);
    assert_eq!(bench.hear(2, Change::Connected), ["b trouble "], "no sign of life yet");
    bench.now += ALIVE_SPACING;
    assert_eq!(bench.hear(1, Change::Bookmark), ["a alive"]);
    assert_eq!(bench.hear(2, Change::Bookmark), ["b alive"]);
    assert!(bench.hear(2, Change::Bookmark).is_empty(), "said too often");
    assert!(bench.hear(7, Change::Bookmark).is_empty(), "followed no more");
}

#[test]
fn what_was_said_of_a_target_ends_with_it() {
    let mut bench = Bench::new();
    bench.begin("a", selection(&[], ""), fields(&["x"]));
    bench.arrange();
    assert_eq!(bench.hear(1, Change::Failing("no".to_owned())), ["a trouble cannot watch proxies: no"]);
    bench.begin("a", selection(&[], "tier=1"), fields(&["x"]));
    assert_eq!(bench.arrange()[0], "a hush", "the new text has not failed yet");
    bench.hear(2, Change::Failing("no".to_owned()));
    bench.end("a", true);
    assert!(bench.arrange().contains(&"a hush".to_owned()));
    assert!(bench.arrange().is_empty());
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Turn {
    /// The target with that number is added or changed, with that selection.
    Begin(usize, usize),
    End(usize, bool),
    Arrange,
    /// The object with that number gets those labels, or is deleted.
    Label(usize, Option<usize>),
    List,
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        (0..3_usize, 0..4_usize).prop_map(|(target, selection)| Turn::Begin(target, selection)),
        (0..3_usize, any::<bool>()).prop_map(|(target, is_removed)| Turn::End(target, is_removed)),
        Just(Turn::Arrange),
        (0..4_usize, prop::option::of(0..3_usize)).prop_map(|(object, labels)| Turn::Label(object, labels)),
        Just(Turn::List),
    ]
}

/// The names of the targets.
const TARGETS: [&str; 3] = ["a", "b", "c"];

/// A dispatch, the existing objects, and the deliveries to each target.
struct History {
    bench: Bench,
    /// Version and labels by number.
    objects: BTreeMap<usize, (u64, usize)>,
    held: BTreeMap<&'static str, BTreeSet<String>>,
    version: u64,
}

/// The object with that number.
fn numbered(number: usize, version: u64, labels: usize) -> SeenObject {
    seen_in(namespace(number), &format!("o{number}"), version, &tier(&labels.to_string()))
}

const fn namespace(number: usize) -> &'static str {
    if number.is_multiple_of(2) { "a" } else { "b" }
}

impl History {
    fn new() -> Self {
        Self { bench: Bench::new(), objects: BTreeMap::new(), held: BTreeMap::new(), version: 0 }
    }

    fn take(&mut self, turn: &Turn) {
        let words = match *turn {
            Turn::Begin(target, number) => {
                let selections = [
                    selection(&[], "tier=1"),
                    selection(&[], "tier=2"),
                    selection(&[], ""),
                    selection(&["a"], "tier in (0, 1)"),
                ];
                self.bench.end(TARGETS[target], false);
                self.held.insert(TARGETS[target], BTreeSet::new());
                self.bench.begin(TARGETS[target], selections[number].clone(), fields(&["x"]));
                return;
            }
            Turn::End(target, is_removed) => {
                self.bench.end(TARGETS[target], is_removed);
                self.held.remove(TARGETS[target]);
                return;
            }
            Turn::Arrange => self.bench.arrange(),
            Turn::Label(number, labels) => self.label(number, labels),
            Turn::List => self.list(),
        };
        words.iter().for_each(|word| self.hear(word));
    }

    fn label(&mut self, number: usize, labels: Option<usize>) -> Vec<String> {
        self.version += 1;
        let before = self.objects.remove(&number);
        let change = match (labels, before) {
            (Some(labels), _) => {
                self.objects.insert(number, (self.version, labels));
                Change::Changed(numbered(number, self.version, labels))
            }
            (None, Some((_, labels))) => Change::Deleted(numbered(number, self.version, labels)),
            (None, None) => return Vec::new(),
        };
        let follows = |of: &Option<String>| of.as_deref().is_none_or(|one| one == namespace(number));
        let follower = self.bench.followed.iter().find(|(_, (of, _))| follows(of)).map(|(follower, _)| *follower);
        follower.map(|follower| self.bench.hear(follower, change)).unwrap_or_default()
    }

    fn list(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        for (follower, (of, _)) in self.bench.followed.clone() {
            words.extend(self.bench.hear(follower, Change::ListBegan));
            for (number, (version, labels)) in &self.objects {
                if of.as_deref().is_none_or(|one| one == namespace(*number)) {
                    let found = numbered(*number, *version, *labels);
                    words.extend(self.bench.hear(follower, Change::Found(found, "90".to_owned())));
                }
            }
            words.extend(self.bench.hear(follower, Change::ListEnded("90".to_owned())));
        }
        words
    }

    /// Applies a delivery to a target. Deliveries to a removed target do not count.
    fn hear(&mut self, word: &str) {
        let parts: Vec<&str> = word.split(' ').collect();
        let Some(own) = self.held.get_mut(parts[0]) else { return };
        match parts[1] {
            "seen" => _ = own.insert(parts[2].to_owned()),
            "left" | "skips" => _ = own.remove(parts[2]),
            _ => {}
        }
    }

    /// The target that an object belongs to.
    fn owner(&self, number: usize) -> Option<Arc<str>> {
        let (version, labels) = self.objects[&number];
        let SeenObject { object, labels } = numbered(number, version, labels);
        let kind = KindName::new("demo.example/v1", "Proxy");
        crate::subscriptions::owner_of(
            &self.bench.dispatch.owners,
            &kind,
            object.id.namespace.as_deref(),
            labels.as_ref(),
        )
        .cloned()
    }
}

proptest! {
    #[test]
    fn no_object_is_lost_or_has_two_owners(turns in prop::collection::vec(turn(), 1..40)) {
        let mut history = History::new();
        turns.iter().chain(&[Turn::Arrange, Turn::List]).for_each(|turn| history.take(turn));
        for number in history.objects.keys() {
            let owner = history.owner(*number);
            for (target, own) in &history.held {
                let is_owner = owner.as_deref() == Some(*target);
                prop_assert_eq!(own.contains(&format!("o{number}")), is_owner, "{} and {}", target, number);
            }
        }
        let present: Vec<String> = history.objects.keys().map(|number| format!("o{number}")).collect();
        prop_assert!(history.held.values().flatten().all(|name| present.contains(name)));
    }
}

#[test]
fn a_namespace_without_room_is_listed_again_once_it_has_some() {
    let mut bench = Bench::new();
    // 192 bytes for the fields of one namespace. Those of an object take 21.
    bench.dispatch = Dispatch::with_memory_limit(Some(1_024));
    bench.begin("a", selection(&[], ""), fields(&["x", "y"]));
    bench.arrange();
    let [p, q] = ["p", "q"].map(|name| seen(name, 1, &json!({})));
    let other = seen_in("b", "r", 1, &json!({}));
    assert_eq!(
        bench.list(&[p.clone(), q.clone(), other.clone()]),
        ["a seen p", "a seen q empty", "a seen r", "a listed"]
    );
    let number = *bench.followed.keys().next().unwrap();
    assert_eq!(bench.hear(number, Change::Deleted(p)), ["a left p", "arrange"]);
    assert_eq!(bench.arrange(), ["cease all", "follow all"]);
    assert_eq!(bench.list(&[q, other]), ["a seen q"], "what it has is not delivered again");
}

fn reporting(namespaces: &[&str], labels: &str) -> ObjectSelection {
    ObjectSelection { conditions: ConditionsPlace::Report, ..selection(namespaces, labels) }
}

/// The report of the object with this name and uid.
fn report(name: &str, uid: &str, version: u64) -> SeenObject {
    let condition = json!({"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "message": "m"});
    let report = json!({"object": {"uid": uid}, "status": {"conditions": [condition]}, "metadata": {"namespace": "a",
        "name": report_name("demo.example", "Proxy", name), "uid": "r", "resourceVersion": version.to_string()}});
    SeenObject { object: LeanObject::prune(&report, &report_fields()), labels: None }
}

#[test]
fn objects_are_listed_after_their_reports() {
    let mut bench = Bench::new();
    bench.begin("a", reporting(&[], ""), fields(&["x"]));
    assert_eq!(bench.arrange(), ["follow all"]);
    assert!(bench.arrange().is_empty(), "the reports are not listed");
    let refused = bench.hear(1, Change::Failing("404 NotFound".to_owned()));
    let install = "apply the CustomResourceDefinition driftreports.driftpoller.dev";
    assert_eq!(refused, [format!("a trouble cannot watch driftreports: 404 NotFound, {install}")]);
    assert_eq!(bench.list(&[report("p", "p", 5)]), ["arrange", "a trouble "]);
    assert_eq!(bench.arrange(), ["follow all"]);
    bench.hear(2, Change::ListBegan);
    let mut told = bench.hear(2, Change::Found(seen("p", 1, &tier("1")), "90".to_owned()));
    told.extend(bench.hear(2, Change::Found(seen("q", 1, &tier("1")), "90".to_owned())));
    told.extend(bench.hear(2, Change::ListEnded("90".to_owned())));
    assert_eq!(told, ["a seen p with report", "a seen q without report", "a listed", "a alive"]);
    bench.end("a", true);
    assert_eq!(bench.arrange(), ["cease all", "cease all"]);
}

#[test]
fn a_report_is_told_to_the_owner_of_its_object() {
    let mut bench = Bench::new();
    bench.begin("a", reporting(&[], "tier=1"), fields(&["x"]));
    bench.begin("b", selection(&[], "tier=2"), fields(&["x"]));
    assert_eq!(bench.arrange(), ["follow all", "follow all"]);
    bench.hear(1, Change::ListEnded("90".to_owned()));
    bench.arrange();
    let objects = *bench.followed.keys().last().unwrap();
    for (name, of) in [("p", "1"), ("q", "2")] {
        bench.hear(objects, Change::Changed(seen(name, 1, &tier(of))));
    }
    let mut change = |change: Change<SeenObject>| {
        let mut words = bench.hear(1, change);
        words.retain(|word| !word.ends_with("alive") && word != "arrange");
        words
    };
    assert_eq!(change(Change::Changed(report("p", "p", 5))), ["a reported p"]);
    assert!(change(Change::Changed(report("p", "p", 5))).is_empty(), "the same version is no news");
    assert!(change(Change::Changed(report("q", "q", 6))).is_empty(), "b keeps its conditions on the objects");
    assert!(change(Change::Changed(report("x", "x", 7))).is_empty(), "no object is known");
    assert_eq!(change(Change::Changed(report("p", "former", 8))), ["a reported p"]);
    assert_eq!(change(Change::Changed(report("p", "p", 9))), ["a reported p"]);
    assert_eq!(change(Change::Deleted(report("p", "p", 10))), ["a reported p gone"]);
    assert_eq!(change(Change::Changed(report("p", "p", 11))), ["a reported p"]);
    change(Change::ListBegan);
    assert_eq!(change(Change::ListEnded("90".to_owned())), ["a reported p gone"]);
}

#[test]
fn a_new_list_of_reports_says_which_objects_have_none() {
    let mut bench = Bench::new();
    bench.begin("a", reporting(&["a"], ""), fields(&["x"]));
    bench.arrange();
    bench.hear(1, Change::ListEnded("7".to_owned()));
    bench.arrange();
    for name in ["p", "q"] {
        bench.hear(2, Change::Changed(seen(name, 1, &tier("1"))));
    }
    // The owner may know a report of p from its own write. It was deleted before the watch came.
    bench.hear(1, Change::ListBegan);
    bench.hear(1, Change::Found(report("q", "q", 8), "20".to_owned()));
    let effects = bench.dispatch.hear(1, Change::ListEnded("20".to_owned()), bench.now);
    let reported = effects.words.into_iter().filter_map(|(_, event)| match event {
        ObjectEvent::Reported(uid, report) => Some((uid, *report)),
        _ => None,
    });
    let list = VersionNumber::of("20");
    assert_eq!(reported.collect::<Vec<_>>(), [("p".into(), SeenReport::absent(list).listed_at(list))]);
    let effects = bench.dispatch.hear(2, Change::Changed(seen("p", 2, &tier("1"))), bench.now);
    let [(_, ObjectEvent::Seen(p))] = &effects.words[..] else { panic!("{effects:?}") };
    assert_eq!(p.report.as_ref().unwrap().current_at, list, "an object seen later has its absence from that list");
}

#[test]
fn conditions_left_on_an_object_are_orphans_once_it_has_reports() {
    let mut bench = Bench::new();
    bench.begin("a", reporting(&[], ""), fields(&["x"]));
    bench.arrange();
    bench.hear(1, Change::ListEnded("90".to_owned()));
    bench.arrange();
    let mut marked = seen("p", 1, &tier("1"));
    marked.object.finalizers = Box::new([FINALIZER.into()]);
    assert_eq!(bench.hear(2, Change::Changed(marked)), ["a seen p without report", "a alive", "orphan p"]);
    let unmarked = bench.hear(2, Change::Changed(seen("q", 1, &tier("1"))));
    assert_eq!(unmarked, ["a seen q without report"]);
}

#[test]
fn a_target_is_as_alive_as_its_older_watch() {
    let mut bench = Bench::new();
    bench.begin("a", reporting(&[], ""), fields(&["x"]));
    bench.arrange();
    bench.hear(1, Change::ListEnded("90".to_owned()));
    bench.arrange();
    bench.now += ALIVE_SPACING;
    let told = bench.hear(2, Change::ListEnded("90".to_owned()));
    assert_eq!(told, ["a listed", "a alive"]);
    bench.now += ALIVE_SPACING + ALIVE_SPACING;
    assert!(bench.hear(2, Change::Bookmark).is_empty(), "the reports gave no sign");
    assert_eq!(bench.hear(1, Change::Bookmark), ["a alive"]);
}
