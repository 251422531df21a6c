//! What counts as left, when it is looked for, and which notes may go: tables, and random histories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cleanup::*;
use drift_model::field_paths::FieldPaths;
use drift_model::identity::ScopeId;
use drift_model::moment::Moment;
use drift_model::object::LeanObject;
use drift_target::{DocumentName, Target, parse_document};

const PATIENCE: Duration = Duration::from_secs(600);

fn target(name: &str, config_map: &str, objects: &str) -> Arc<Target> {
    let text = format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: {name}}}\nspec:\n  objects: {objects}\n  identity: x\n  read: {{http: {{url: 'http://h.example/'}}}}\n  compare: {{desired: {{a: 1}}}}\n"
    );
    let document = DocumentName { config_map: config_map.to_owned(), key: name.to_owned() };
    Arc::new(parse_document(&document, &text).unwrap_or_else(|problems| panic!("{problems:?}")))
}

/// A target of Proxies, in some namespaces, with a tier.
fn proxies(name: &str, namespaces: &str, tier: &str) -> Arc<Target> {
    target(
        name,
        "m",
        &format!(
            "{{apiVersion: demo.example/v1, kind: Proxy, namespaces: {namespaces}, labelSelector: 'tier={tier}'}}"
        ),
    )
}

/// What is in force, owned.
#[derive(Clone, Default)]
struct World {
    targets: BTreeMap<String, Arc<Target>>,
    whole: BTreeSet<String>,
}

impl World {
    fn new(targets: &[&Arc<Target>], whole: &[&str]) -> Self {
        Self {
            targets: targets.iter().map(|target| (target.name.clone(), Arc::clone(target))).collect(),
            whole: whole.iter().map(|map| (*map).to_owned()).collect(),
        }
    }

    fn in_force(&self) -> InForce<'_> {
        InForce { targets: &self.targets, whole: &self.whole }
    }
}

fn noted(targets: &[&Arc<Target>]) -> Notes {
    let mut notes = Notes::default();
    targets.iter().for_each(|target| notes.add(target));
    notes
}

fn object(namespace: Option<&str>, tier: &str) -> LeanObject {
    let mut fields = FieldPaths::default();
    fields.insert(vec!["metadata".to_owned(), "labels".to_owned()]);
    let labels = json!({"tier": tier});
    let metadata = json!({"namespace": namespace, "name": "p", "uid": "u", "labels": labels});
    LeanObject::prune(&json!({ "metadata": metadata }), &fields)
}

fn proxy_kind() -> KindName {
    KindName { group: "demo.example".to_owned(), kind: "Proxy".to_owned() }
}

fn at(seconds: u64) -> Moment {
    Moment::from_start(Duration::from_secs(seconds))
}

#[test]
fn the_annotation_is_read_back_as_it_was_written_and_what_is_broken_in_it_loses_nothing_else() {
    let notes = noted(&[&proxies("a", "[x, y]", "1"), &target("b", "n", "{apiVersion: v1, kind: Service}")]);
    let text = notes.to_string();
    assert_eq!(
        text,
        concat!(
            r#"[{"configMap":"m","target":"a","apiVersion":"demo.example/v1","kind":"Proxy","namespaces":["x","y"],"scope":"SCOPE"},"#,
            r#"{"configMap":"n","target":"b","apiVersion":"v1","kind":"Service","namespaces":[],"scope":"SCOPE"}]"#
        )
        .replace("SCOPE", &target("a", "m", "{apiVersion: v1, kind: Service}").scope.id.to_string())
    );
    assert_eq!(Notes::parse(&text), (notes, 0));
    let (rest, unreadable) = Notes::parse(&text.replace(r#""target":"a","#, ""));
    assert_eq!((rest, unreadable), (noted(&[&target("b", "n", "{apiVersion: v1, kind: Service}")]), 1));
    assert_eq!(Notes::parse("nonsense"), (Notes::default(), 1));
}

#[test]
fn a_note_of_an_earlier_program_speaks_of_every_scope() {
    let one = proxies("a", "[x]", "1");
    let earlier =
        r#"[{"configMap":"m","target":"a","apiVersion":"demo.example/v1","kind":"Proxy","namespaces":["x"]}]"#;
    let (mut notes, _) = Notes::parse(earlier);
    let broken = World::new(&[], &[]);
    assert_eq!(IncompleteScopes::find(&notes, broken.in_force(), |_| true), IncompleteScopes::All);
    notes.add(&one);
    assert_eq!(notes, noted(&[&one]), "what it said is of the target in force");
}

#[test]
fn a_scope_is_complete_once_every_noted_target_is_decided_and_listed() {
    let (one, two) = (proxies("one", "[x]", "1"), target("two", "n", "{apiVersion: v1, kind: Service}"));
    let (notes, scope) = (noted(&[&one, &two]), one.scope.id);
    assert_eq!(scope, two.scope.id, "one read, one scope");
    let complete = |world: &World, listed: &[&str]| {
        let is_listed = |target: &Target| listed.contains(&target.name.as_str());
        IncompleteScopes::find(&notes, world.in_force(), is_listed).is_complete(scope)
    };
    let both = World::new(&[&one, &two], &["m", "n"]);
    assert!(complete(&both, &["one", "two"]) && !complete(&both, &["one"]));
    let bad = World::new(&[&one], &["m"]);
    assert!(!complete(&bad, &["one"]), "two is on the Lease, and its document is bad");
    let gone = World::new(&[&one], &["m", "n"]);
    assert!(complete(&gone, &["one"]), "two is gone");
    let last_good = World::new(&[&one, &two], &["m"]);
    assert!(complete(&last_good, &["one", "two"]), "the last good text of two is in force");
    assert!(!IncompleteScopes::default().is_complete(scope));
}

#[test]
fn a_former_scope_is_complete_once_its_target_is_listed() {
    let one = proxies("one", "[x]", "1");
    let mut moved = proxies("one", "[x]", "1");
    Arc::get_mut(&mut moved).unwrap().scope.id = ScopeId::of("elsewhere");
    let notes = noted(&[&one]);
    let world = World::new(&[&moved], &["m"]);
    let complete =
        |listed: bool, scope| IncompleteScopes::find(&notes, world.in_force(), |_| listed).is_complete(scope);
    assert!(!complete(false, one.scope.id), "what was claimed there before the edit is not seen yet");
    assert!(complete(true, one.scope.id) && complete(true, moved.scope.id) && !complete(false, moved.scope.id));
}

#[test]
fn an_object_is_left_only_where_it_is_certain_that_no_target_selects_it() {
    use Judgement::{Foreign, Left, Selected, Undecided};
    let (one, two) = (proxies("one", "[x]", "1"), proxies("two", "[x]", "2"));
    let moved = target("one", "n", "{apiVersion: demo.example/v1, kind: Proxy, namespaces: [y]}");
    let newer = target("one", "m", "{apiVersion: demo.example/v2, kind: Proxy, namespaces: [x]}");
    let both = || noted(&[&one, &two]);
    let table = [
        ("selected", both(), World::new(&[&one, &two], &["m"]), Some("x"), "1", Selected),
        ("another's", both(), World::new(&[&two], &["m"]), Some("x"), "2", Selected),
        ("gone with its document", both(), World::new(&[&two], &["m"]), Some("x"), "1", Left),
        ("relabelled", both(), World::new(&[&one, &two], &["m"]), Some("x"), "3", Left),
        (
            "the ConfigMap has a bad document, or is missing",
            both(),
            World::new(&[&two], &[]),
            Some("x"),
            "1",
            Undecided,
        ),
        ("selected, whatever the ConfigMap says", both(), World::new(&[&two], &[]), Some("x"), "2", Selected),
        ("a namespace that nobody noted", both(), World::new(&[], &["m"]), Some("z"), "1", Foreign),
        (
            "the target lives in another ConfigMap now",
            noted(&[&one]),
            World::new(&[&moved], &["n"]),
            Some("x"),
            "1",
            Left,
        ),
        ("and that one is not whole", noted(&[&one]), World::new(&[&moved], &["m"]), Some("x"), "1", Undecided),
        ("in another version of the group", noted(&[&one]), World::new(&[&newer], &["m"]), Some("x"), "1", Selected),
        ("of a cluster-scoped kind", noted(&[&one]), World::new(&[], &["m"]), None, "1", Left),
    ];
    for (case, notes, world, namespace, tier, expected) in table {
        assert_eq!(judge(&notes, world.in_force(), &proxy_kind(), &object(namespace, tier)), expected, "{case}");
    }
}

#[test]
fn a_scope_is_left_once_its_target_is_known_to_reach_less() {
    let wide = proxies("a", "[x, y]", "1");
    let notes = noted(&[&wide]);
    let table: [(&str, World, bool); 6] = [
        ("as it was", World::new(&[&wide], &["m"]), false),
        ("gone", World::new(&[], &["m"]), true),
        ("gone with its ConfigMap", World::new(&[], &[]), false),
        ("narrower", World::new(&[&proxies("a", "[x]", "1")], &["m"]), true),
        ("wider", World::new(&[&proxies("a", "[x, y, z]", "1")], &["m"]), false),
        ("everywhere", World::new(&[&target("a", "m", "{apiVersion: demo.example/v1, kind: Proxy}")], &["m"]), false),
    ];
    for (case, world, is_left) in table {
        assert_eq!(!left_scopes(&notes, world.in_force()).is_empty(), is_left, "{case}");
    }
}

#[test]
fn a_kind_is_swept_once_after_each_change_of_what_is_selected_and_never_in_a_steady_state() {
    let (one, narrow) = (proxies("a", "[x]", "1"), proxies("a", "[x]", "2"));
    let notes = noted(&[&one]);
    let mut ledger = Ledger::new(PATIENCE);
    let sweep = Some(Duty::Sweep(proxy_kind()));
    ledger.arrange(&notes, World::new(&[&one], &["m"]).in_force(), at(0));
    assert_eq!((ledger.next_due(), ledger.take_due(at(599))), (Some(at(600)), None));
    assert_eq!(ledger.take_due(at(600)), sweep);
    assert_eq!(ledger.end_sweep(&proxy_kind(), SweepEnd::Clean, at(601)), []);
    // The same again, as after an edit of something else, costs nothing.
    ledger.arrange(&notes, World::new(&[&one], &["m"]).in_force(), at(700));
    assert_eq!(ledger.next_due(), None);
    ledger.arrange(&notes, World::new(&[&narrow], &["m"]).in_force(), at(1000));
    ledger.arrange(&notes, World::new(&[&narrow], &[]).in_force(), at(1300));
    assert_eq!((ledger.take_due(at(1899)), ledger.take_due(at(1900))), (None, sweep.clone()));
    // What is in doubt waits for the next word.
    assert_eq!(ledger.end_sweep(&proxy_kind(), SweepEnd::Undecided, at(1901)), []);
    assert_eq!(ledger.next_due(), None);
    ledger.arrange(&notes, World::new(&[&narrow], &["m"]).in_force(), at(2000));
    assert_eq!(ledger.take_due(at(2600)), sweep);
}

#[test]
fn a_note_goes_when_its_target_is_gone_and_a_sweep_found_nothing() {
    let (one, other) = (proxies("a", "[x]", "1"), proxies("b", "[y]", "1"));
    let notes = noted(&[&one, &other]);
    let mut ledger = Ledger::new(PATIENCE);
    ledger.arrange(&notes, World::new(&[&other], &["m"]).in_force(), at(0));
    for (end, gone) in [(SweepEnd::Failed, false), (SweepEnd::Unripe, false), (SweepEnd::Clean, true)] {
        let now = ledger.next_due().unwrap();
        assert_eq!(ledger.take_due(now), Some(Duty::Sweep(proxy_kind())));
        let expected = if gone { vec![Scope::of(&one)] } else { Vec::new() };
        assert_eq!(ledger.end_sweep(&proxy_kind(), end, now), expected, "{end:?}");
    }
    assert_eq!(ledger.next_due(), None);
}

#[test]
fn a_note_stays_while_its_target_is_undecided() {
    let one = proxies("a", "[x]", "1");
    let mut ledger = Ledger::new(PATIENCE);
    ledger.arrange(&noted(&[&one]), World::default().in_force(), at(0));
    assert!(ledger.take_due(at(600)).is_some());
    assert_eq!(ledger.end_sweep(&proxy_kind(), SweepEnd::Clean, at(600)), []);
}

#[test]
fn an_object_that_left_by_itself_is_looked_at_after_its_own_patience() {
    let one = proxies("a", "[x]", "1");
    let mut ledger = Ledger::new(PATIENCE);
    ledger.arrange(&noted(&[&one]), World::new(&[&one], &["m"]).in_force(), at(0));
    let left = object(Some("x"), "2").id;
    ledger.note_left(proxy_kind(), left.clone(), at(300));
    ledger.note_left(proxy_kind(), left.clone(), at(500));
    assert_eq!(ledger.take_due(at(600)), Some(Duty::Sweep(proxy_kind())));
    assert!(ledger.is_young(&left.uid));
    assert_eq!(ledger.end_sweep(&proxy_kind(), SweepEnd::Clean, at(600)), []);
    assert_eq!(ledger.take_due(at(1099)), None);
    assert_eq!(ledger.take_due(at(1100)), Some(Duty::Look(proxy_kind(), left.clone())));
    assert!(!ledger.is_young(&left.uid));
}

#[test]
fn failures_pause_longer_and_longer_up_to_an_hour_and_a_change_begins_anew() {
    let (one, two) = (proxies("a", "[x]", "1"), proxies("a", "[x]", "2"));
    let notes = noted(&[&one]);
    let mut ledger = Ledger::new(PATIENCE);
    ledger.arrange(&notes, World::new(&[&one], &["m"]).in_force(), at(0));
    let mut pauses = Vec::new();
    for _ in 0..8 {
        let now = ledger.next_due().unwrap();
        assert!(ledger.take_due(now).is_some());
        ledger.end_sweep(&proxy_kind(), SweepEnd::Failed, now);
        pauses.push((ledger.next_due().unwrap() - now).as_secs() / 60);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    let now = ledger.next_due().unwrap();
    ledger.arrange(&notes, World::new(&[&two], &["m"]).in_force(), now);
    assert_eq!(ledger.next_due(), Some(now + PATIENCE));
}

#[test]
fn a_sweep_that_a_change_broke_off_begins_anew_but_not_before_its_patience() {
    let (one, two) = (proxies("a", "[x]", "1"), proxies("a", "[x]", "2"));
    let notes = noted(&[&one]);
    let mut ledger = Ledger::new(PATIENCE);
    for (target, due) in [(&one, 600), (&one, 600), (&two, 1200)] {
        ledger.arrange(&notes, World::new(&[target], &["m"]).in_force(), at(if due == 600 { 0 } else { 600 }));
        ledger.break_off(&proxy_kind(), at(600));
        assert_eq!(ledger.next_due(), Some(at(due)), "{due}");
        if due == 600 {
            assert!(ledger.take_due(at(600)).is_some());
        }
    }
}

/// One step of a history: what the configuration says from then on, and for how long.
fn steps() -> impl Strategy<Value = Vec<(usize, bool, u64)>> {
    proptest::collection::vec((0..4_usize, any::<bool>(), 1..900_u64), 1..20)
}

proptest! {
    /// Whatever happens to one target's document, an object that it once selected is swept only when its ConfigMap has
    /// been whole, and has said for ten minutes on end that nobody selects it.
    #[test]
    fn no_history_touches_what_was_wanted_within_ten_minutes_or_is_in_doubt(history in steps()) {
        let texts = [Some(proxies("a", "[x]", "1")), Some(proxies("a", "[x]", "2")), Some(proxies("b", "[x]", "1")), None];
        let subject = object(Some("x"), "1");
        let mut notes = noted(&[&proxies("a", "[x]", "1")]);
        let mut ledger = Ledger::new(PATIENCE);
        let (mut now, mut left_since) = (at(0), None);
        let mut last = World::default();
        for (text, is_whole, seconds) in history {
            let target = texts[text].clone();
            // A document that turned bad leaves the last good one in force.
            let targets = if is_whole { target.iter().map(|target| (target.name.clone(), target.clone())).collect() } else { last.targets.clone() };
            let whole = if is_whole { BTreeSet::from(["m".to_owned()]) } else { BTreeSet::new() };
            let world = World { targets, whole };
            world.targets.values().for_each(|target| notes.add(target));
            ledger.arrange(&notes, world.in_force(), now);
            let judged = judge(&notes, world.in_force(), &proxy_kind(), &subject);
            left_since = if judged == Judgement::Left { left_since.or(Some(now)) } else { None };
            let end = now + Duration::from_secs(seconds);
            while let Some(due) = ledger.next_due().filter(|due| *due <= end) {
                prop_assert!(ledger.take_due(due.max(now)).is_some());
                if judged == Judgement::Left {
                    let since = left_since.unwrap_or(due);
                    prop_assert!(due.max(now).is_past(since, PATIENCE), "{since:?} {due:?}");
                }
                let end = if judged == Judgement::Undecided { SweepEnd::Undecided } else { SweepEnd::Clean };
                for scope in ledger.end_sweep(&proxy_kind(), end, due.max(now)) {
                    prop_assert!(!world.targets.contains_key(&scope.target) || scope.namespaces != ["x"]);
                    notes.remove(&scope);
                }
            }
            now = end;
            last = world;
        }
    }

    /// No text on the Lease breaks the reader, and what it reads it writes the same.
    #[test]
    fn no_annotation_breaks_the_reader(text in r#"[\[\]{}":,a-c]{0,40}"#) {
        let (notes, _) = Notes::parse(&text);
        prop_assert_eq!(Notes::parse(&notes.to_string()), (notes, 0));
    }
}

#[test]
fn labels_decide_only_where_they_were_read() {
    // An object without any labels is out of every selection that asks for one.
    let bare = LeanObject::prune(&json!({"metadata": {"namespace": "x", "uid": "u"}}), &FieldPaths::default());
    assert_eq!(bare.view.pointer("/metadata/labels"), None::<&Value>);
    let one = proxies("a", "[x]", "1");
    let world = World::new(&[&one], &["m"]);
    assert_eq!(judge(&noted(&[&one]), world.in_force(), &proxy_kind(), &bare), Judgement::Left);
}
