//! Orphans, the times of looks, and removable notes: tables, and random histories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cleanup::*;
use crate::client::KindName;
use crate::config::Configuration;
use drift_api::identity::ScopeId;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;
use drift_language::parse_document;
use drift_language::{DocumentName, Target, TargetState};

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

/// The ConfigMaps with these targets. Every document of those in `whole` is valid.
pub(super) fn config_maps(targets: &[&Arc<Target>], whole: &[&str]) -> Configuration {
    Configuration {
        targets: targets.iter().map(|target| (target.name.clone(), Arc::clone(target))).collect(),
        whole: whole.iter().map(|map| (*map).to_owned()).collect(),
        loaded: true,
        ..Configuration::default()
    }
}

pub(super) fn noted(targets: &[&Arc<Target>]) -> Selections {
    let mut notes = Selections::default();
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
fn a_broken_part_of_the_annotation_loses_nothing_else() {
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
    assert_eq!(Selections::parse(&text), (notes, 0));
    let (rest, unreadable) = Selections::parse(&text.replace(r#""target":"a","#, ""));
    assert_eq!((rest, unreadable), (noted(&[&target("b", "n", "{apiVersion: v1, kind: Service}")]), 1));
    assert_eq!(Selections::parse("nonsense"), (Selections::default(), 1));
}

#[test]
fn a_note_of_an_earlier_program_speaks_of_every_scope() {
    let one = proxies("a", "[x]", "1");
    let earlier =
        r#"[{"configMap":"m","target":"a","apiVersion":"demo.example/v1","kind":"Proxy","namespaces":["x"]}]"#;
    let (mut notes, _) = Selections::parse(earlier);
    let broken = config_maps(&[], &[]);
    assert_eq!(KnownTargets::new(&notes, &broken).incomplete_scopes(|_| true), IncompleteScopes::All);
    notes.add(&one);
    assert_eq!(notes, noted(&[&one]), "what it said is of the active target");
}

#[test]
fn a_scope_is_complete_once_all_are_listed() {
    let (one, two) = (proxies("one", "[x]", "1"), target("two", "n", "{apiVersion: v1, kind: Service}"));
    let (notes, scope) = (noted(&[&one, &two]), one.scope.id);
    assert_eq!(scope, two.scope.id, "one read, one scope");
    let complete = |world: &Configuration, listed: &[&str]| {
        let is_listed = |target: &Target| listed.contains(&target.name.as_str());
        KnownTargets::new(&notes, world).incomplete_scopes(is_listed).is_complete(scope)
    };
    let both = config_maps(&[&one, &two], &["m", "n"]);
    assert!(complete(&both, &["one", "two"]) && !complete(&both, &["one"]));
    let bad = config_maps(&[&one], &["m"]);
    assert!(!complete(&bad, &["one"]), "two is on the Lease, and its document is bad");
    let awaited = |listed: bool| KnownTargets::new(&notes, &bad).incomplete_scopes(|_| listed).awaited(scope);
    assert_eq!([awaited(true).as_deref(), awaited(false).as_deref()], [Some("target two"), Some("target one, two")]);
    let gone = config_maps(&[&one], &["m", "n"]);
    assert!(complete(&gone, &["one"]), "two is gone");
    let last_good = config_maps(&[&one, &two], &["m"]);
    assert!(complete(&last_good, &["one", "two"]), "the last good text of two is active");
    assert!(!IncompleteScopes::default().is_complete(scope));
}

#[test]
fn a_former_scope_is_complete_once_its_target_is_listed() {
    let one = proxies("one", "[x]", "1");
    let mut moved = proxies("one", "[x]", "1");
    Arc::get_mut(&mut moved).unwrap().scope.id = ScopeId::of("elsewhere");
    let notes = noted(&[&one]);
    let world = config_maps(&[&moved], &["m"]);
    let complete =
        |listed: bool, scope| KnownTargets::new(&notes, &world).incomplete_scopes(|_| listed).is_complete(scope);
    assert!(!complete(false, one.scope.id), "what was claimed there before the edit is not seen yet");
    assert!(complete(true, one.scope.id) && complete(true, moved.scope.id) && !complete(false, moved.scope.id));
}

#[test]
fn an_object_is_left_only_where_it_is_certain() {
    use Judgement::{Foreign, Left, Selected, Undecided};
    let (one, two) = (proxies("one", "[x]", "1"), proxies("two", "[x]", "2"));
    let moved = target("one", "n", "{apiVersion: demo.example/v1, kind: Proxy, namespaces: [y]}");
    let newer = target("one", "m", "{apiVersion: demo.example/v2, kind: Proxy, namespaces: [x]}");
    let both = || noted(&[&one, &two]);
    let table = [
        ("selected", both(), config_maps(&[&one, &two], &["m"]), Some("x"), "1", Selected),
        ("another's", both(), config_maps(&[&two], &["m"]), Some("x"), "2", Selected),
        ("gone with its document", both(), config_maps(&[&two], &["m"]), Some("x"), "1", Left),
        ("relabelled", both(), config_maps(&[&one, &two], &["m"]), Some("x"), "3", Left),
        (
            "the ConfigMap has a bad document, or is missing",
            both(),
            config_maps(&[&two], &[]),
            Some("x"),
            "1",
            Undecided,
        ),
        ("selected, whatever the ConfigMap says", both(), config_maps(&[&two], &[]), Some("x"), "2", Selected),
        ("a namespace that nobody noted", both(), config_maps(&[], &["m"]), Some("z"), "1", Foreign),
        (
            "the target lives in another ConfigMap now",
            noted(&[&one]),
            config_maps(&[&moved], &["n"]),
            Some("x"),
            "1",
            Left,
        ),
        ("and that one is not whole", noted(&[&one]), config_maps(&[&moved], &["m"]), Some("x"), "1", Undecided),
        ("in another version of the group", noted(&[&one]), config_maps(&[&newer], &["m"]), Some("x"), "1", Selected),
        ("of a cluster-scoped kind", noted(&[&one]), config_maps(&[], &["m"]), None, "1", Left),
    ];
    for (case, notes, world, namespace, tier, expected) in table {
        assert_eq!(
            KnownTargets::new(&notes, &world).judge(&proxy_kind(), &object(namespace, tier)),
            expected,
            "{case}"
        );
    }
}

#[test]
fn the_watches_decide_before_an_object_is_read() {
    use Judgement::{Foreign, Left, Selected, Undecided, Unlisted};
    let (one, two) = (proxies("one", "[x]", "1"), proxies("two", "[x]", "2"));
    let service = target("service", "m", "{apiVersion: v1, kind: Service}");
    let all = || config_maps(&[&one, &two, &service], &["m"]);
    for (case, world, told, listed, namespace, expected) in [
        ("an active target has it", all(), "one", &["one", "two"][..], "x", Selected),
        ("and the other has no list", all(), "one", &["one"], "x", Selected),
        ("no target has it", all(), "", &["one", "two"], "x", Left),
        ("one has no list", all(), "", &["one"], "x", Unlisted),
        ("a removed target still has it", config_maps(&[&two], &["m"]), "one", &["one", "two"], "x", Unlisted),
        ("a missing one may have it", config_maps(&[&two], &[]), "", &[], "x", Undecided),
        ("no note covers it", all(), "", &["one", "two"], "z", Foreign),
        ("no note covers it, and one has no list", all(), "", &[], "z", Unlisted),
    ] {
        let told: Vec<Arc<str>> = [told].into_iter().filter(|told| !told.is_empty()).map(Arc::from).collect();
        let notes = noted(&[&one, &two]);
        let known = KnownTargets::new(&notes, &world);
        let id = object(Some(namespace), "1").id;
        let judgement = known.judge_by_watches(&proxy_kind(), &id, &told, |target| listed.contains(&target));
        assert_eq!(judgement, expected, "{case}");
    }
}

#[test]
fn a_removed_note_restarts_no_patience() {
    let (former, present) = (proxies("former", "[x]", "1"), proxies("present", "[y]", "1"));
    let world = config_maps(&[&present], &["n"]);
    let mut schedule = schedule();
    schedule.arrange(KnownTargets::new(&noted(&[&former, &present]), &world), at(0));
    schedule.hear_of(&proxy_kind(), &id("u"), Stage::Last, false, at(0));
    schedule.forget(&proxy_kind(), &[Selection::of(&former)]);
    schedule.arrange(KnownTargets::new(&noted(&[&present]), &world), at(300));
    assert_eq!(schedule.next_due(), Some(at(600)));
}

fn schedule() -> Schedule {
    Schedule::new(SweepSettings::of_conditions(PATIENCE))
}

/// The next duty, of the first stage that has one.
fn next_duty(schedule: &mut Schedule, now: Moment) -> Option<Duty> {
    [Stage::Urgent, Stage::Last].into_iter().find_map(|stage| schedule.due(stage, now))
}

fn look(uids: &[&str]) -> Option<Duty> {
    Some(Duty::Look(proxy_kind(), uids.iter().map(|uid| id(uid)).collect()))
}

fn list(namespaces: &[&str]) -> Option<Duty> {
    Some(Duty::List(proxy_kind(), namespaces.iter().map(|&namespace| namespace.to_owned()).collect()))
}

fn id(uid: &str) -> ObjectId {
    ObjectId { uid: uid.into(), ..object(Some("x"), "2").id }
}

#[test]
fn a_kind_is_listed_where_a_target_was() {
    let wide = proxies("a", "[x, y]", "1");
    let noted = noted(&[&wide]);
    let everywhere = target("a", "m", "{apiVersion: demo.example/v1, kind: Proxy}");
    let table: [(&str, Configuration, bool); 6] = [
        ("as it was", config_maps(&[&wide], &["m"]), false),
        ("with other labels", config_maps(&[&proxies("a", "[x, y]", "2")], &["m"]), false),
        ("gone", config_maps(&[], &["m"]), true),
        ("gone with its ConfigMap: does anything need the note?", config_maps(&[], &[]), true),
        ("narrower", config_maps(&[&proxies("a", "[x]", "1")], &["m"]), true),
        ("everywhere", config_maps(&[&everywhere], &["m"]), true),
    ];
    for (case, world, is_listed) in table {
        let mut schedule = schedule();
        schedule.arrange(KnownTargets::new(&noted, &world), at(0));
        assert_eq!(next_duty(&mut schedule, at(599)), None, "{case}");
        assert_eq!(next_duty(&mut schedule, at(600)), list(&["x", "y"]).filter(|_| is_listed), "{case}");
        schedule.end_list(&proxy_kind(), Stage::Last);
        assert_eq!(schedule.next_due(), None, "{case}: a steady state costs nothing");
    }
}

#[test]
fn a_note_goes_once_nothing_is_left() {
    let (one, other) = (proxies("a", "[x]", "1"), proxies("b", "[y]", "1"));
    let noted = noted(&[&one, &other]);
    let mut schedule = schedule();
    schedule.arrange(KnownTargets::new(&noted, &config_maps(&[&other], &["m"])), at(0));
    assert_eq!(schedule.finished(&proxy_kind()), [], "it is not listed");
    schedule.find(&proxy_kind(), &id("u"), Stage::Last, at(600));
    schedule.end_list(&proxy_kind(), Stage::Last);
    for (end, is_finished) in [(LookEnd::Failed("refused"), false), (LookEnd::Unripe, false), (LookEnd::Settled, true)]
    {
        let now = schedule.next_due().unwrap();
        assert_eq!(next_duty(&mut schedule, now), look(&["u"]));
        schedule.end_look(&proxy_kind(), &"u".into(), end, now);
        let finished = if is_finished { vec![Selection::of(&one)] } else { Vec::new() };
        assert_eq!(schedule.finished(&proxy_kind()), finished, "{end:?}");
    }
    schedule.strike_out(&proxy_kind(), true, at(9000));
    assert_eq!(next_duty(&mut schedule, at(9600)), list(&["x"]), "somebody held it");
    schedule.end_list(&proxy_kind(), Stage::Last);
    schedule.strike_out(&proxy_kind(), false, at(9600));
    assert_eq!((schedule.finished(&proxy_kind()), schedule.next_due()), (vec![], None));
}

#[test]
fn each_object_that_left_has_its_own_patience() {
    let one = proxies("a", "[x]", "1");
    let mut schedule = schedule();
    schedule.arrange(KnownTargets::new(&noted(&[&one]), &config_maps(&[&one], &["m"])), at(0));
    let mut hear = |uid, has_left, now| {
        schedule.hear_of(&proxy_kind(), &id(uid), Stage::Last, has_left, at(now));
        schedule.next_due()
    };
    assert_eq!(hear("u", true, 300), Some(at(900)));
    assert_eq!(hear("u", false, 500), Some(at(900)), "whoever writes to it does not make it wait anew");
    assert_eq!(hear("u", true, 600), Some(at(1200)), "it came back and left again");
    assert_eq!(hear("v", false, 500), Some(at(1100)), "one that was never selected here");
    assert_eq!(next_duty(&mut schedule, at(1200)), look(&["v", "u"]));
    assert_eq!(next_duty(&mut schedule, at(1200)), look(&["v", "u"]), "it is due until its end is told");
    schedule.hear_of(
        &KindName::of(&target("s", "m", "{apiVersion: v1, kind: Service}").objects),
        &id("w"),
        Stage::Last,
        true,
        at(0),
    );
    assert_eq!(next_duty(&mut schedule, at(1200)), look(&["v", "u"]), "a kind that is not noted is none of ours");
}

#[test]
fn what_is_in_doubt_waits_for_the_configuration() {
    let one = proxies("a", "[x]", "1");
    let noted = noted(&[&one]);
    let mut schedule = schedule();
    schedule.arrange(KnownTargets::new(&noted, &config_maps(&[], &[])), at(0));
    schedule.hear_of(&proxy_kind(), &id("u"), Stage::Last, false, at(0));
    schedule.end_look(&proxy_kind(), &"u".into(), LookEnd::Undecided, at(600));
    // The list that may prove the note unused. The object itself waits.
    assert_eq!(next_duty(&mut schedule, at(600)), list(&["x"]));
    schedule.end_list(&proxy_kind(), Stage::Last);
    assert_eq!(schedule.next_due(), None);
    schedule.arrange(KnownTargets::new(&noted, &config_maps(&[&one], &["m"])), at(1000));
    assert_eq!(schedule.next_due(), Some(at(1600)));
    assert_eq!(schedule.finished(&proxy_kind()), []);
}

#[test]
fn failures_pause_a_kind_until_a_change() {
    let (one, two) = (proxies("a", "[x]", "1"), proxies("a", "[x]", "2"));
    let noted = noted(&[&one]);
    let mut schedule = schedule();
    schedule.arrange(KnownTargets::new(&noted, &config_maps(&[], &["m"])), at(0));
    let (mut pauses, mut news) = (Vec::new(), 0);
    for _ in 0..8 {
        let now = schedule.next_due().unwrap();
        assert!(next_duty(&mut schedule, now).is_some());
        news += u32::from(schedule.fail(&proxy_kind(), Stage::Last, "list", now));
        pauses.push((schedule.next_due().unwrap() - now).as_secs() / 60);
    }
    assert_eq!((pauses, news), (vec![1, 2, 4, 8, 16, 32, 60, 60], 1));
    let now = schedule.next_due().unwrap();
    assert!(schedule.fail(&proxy_kind(), Stage::Last, "kind", now), "another trouble");
    schedule.arrange(KnownTargets::new(&noted, &config_maps(&[&two], &["m"])), now);
    schedule.hear_of(&proxy_kind(), &id("u"), Stage::Last, true, now);
    assert_eq!(schedule.next_due(), Some(now + PATIENCE));
}

#[test]
fn one_object_that_fails_does_not_hold_up_the_others() {
    let one = proxies("a", "[x]", "1");
    let mut schedule = schedule();
    schedule.arrange(KnownTargets::new(&noted(&[&one]), &config_maps(&[&one], &["m"])), at(0));
    for uid in ["a", "b", "c"] {
        schedule.hear_of(&proxy_kind(), &id(uid), Stage::Last, false, at(0));
    }
    schedule.end_look(&proxy_kind(), &"a".into(), LookEnd::Failed("refused"), at(600));
    assert_eq!(next_duty(&mut schedule, at(600)), look(&["b", "c"]));
    schedule.end_look(&proxy_kind(), &"b".into(), LookEnd::Settled, at(600));
    schedule.end_look(&proxy_kind(), &"c".into(), LookEnd::Settled, at(600));
    assert_eq!(schedule.next_due(), Some(at(660)));
    schedule.end_look(&proxy_kind(), &"a".into(), LookEnd::Failed("refused"), at(660));
    assert_eq!(schedule.next_due(), Some(at(780)), "it waits longer each time");
}

#[test]
fn each_kind_has_its_turn() {
    let (proxies, services) = (proxies("a", "[x]", "1"), target("s", "m", "{apiVersion: v1, kind: Service}"));
    let (proxy, service) = (KindName::of(&proxies.objects), KindName::of(&services.objects));
    let mut schedule = schedule();
    schedule.arrange(KnownTargets::new(&noted(&[&proxies, &services]), &config_maps(&[], &["m"])), at(0));
    let mut kinds = Vec::new();
    for _ in 0..4 {
        let Some(Duty::List(kind, _)) = next_duty(&mut schedule, at(600)) else { panic!("nothing is due") };
        kinds.push(kind);
    }
    assert_eq!(kinds, [&service, &proxy, &service, &proxy].map(Clone::clone));
}

/// A schedule of finalizers and conditions, in which the target of the orphans is active.
fn staged() -> Schedule {
    let one = proxies("a", "[x]", "1");
    let mut schedule = Schedule::new(SweepSettings::of_conditions(PATIENCE).with_finalizers());
    schedule.arrange(KnownTargets::new(&noted(&[&one]), &config_maps(&[&one], &["m"])), at(0));
    schedule
}

#[test]
fn a_finalizer_goes_before_the_condition() {
    let (kind, mut schedule) = (proxy_kind(), staged());
    schedule.hear_of(&kind, &id("held"), Stage::Urgent, false, at(0));
    schedule.hear_of(&kind, &id("judged"), Stage::Last, false, at(0));
    assert_eq!((schedule.next_due(), schedule.due(Stage::Urgent, at(5))), (Some(at(5)), look(&["held"])));
    schedule.end_look(&kind, &"held".into(), LookEnd::Cleaned, at(5));
    schedule.hear_of(&kind, &id("held"), Stage::Last, false, at(100));
    assert_eq!(schedule.next_due(), Some(at(600)), "the release of the finalizer does not make it wait anew");
    schedule.hear_of(&kind, &id("held"), Stage::Urgent, false, at(300));
    assert_eq!(schedule.due(Stage::Urgent, at(305)), look(&["held"]), "a write that was under way put it again");
    for end in [LookEnd::Cleaned, LookEnd::Cleaned] {
        schedule.end_look(&kind, &"held".into(), end, at(305));
    }
    assert_eq!(next_duty(&mut schedule, at(9000)), look(&["judged"]), "after the last look it is forgotten");
}

#[test]
fn an_object_that_is_gone_is_not_looked_at_again() {
    let (kind, mut schedule) = (proxy_kind(), staged());
    schedule.hear_of(&kind, &id("u"), Stage::Urgent, true, at(0));
    schedule.end_look(&kind, &"u".into(), LookEnd::Settled, at(5));
    assert_eq!(schedule.next_due(), None);
}

#[test]
fn a_refused_finalizer_holds_up_no_condition() {
    let (kind, mut schedule) = (proxy_kind(), staged());
    for uid in ["p", "q", "r"] {
        schedule.hear_of(&kind, &id(uid), Stage::Urgent, false, at(0));
        schedule.end_look(&kind, &uid.into(), LookEnd::Failed("refused"), at(5));
    }
    schedule.hear_of(&kind, &id("judged"), Stage::Last, false, at(0));
    assert!(!schedule.is_ready(&kind, Stage::Urgent, at(5)) && schedule.is_ready(&kind, Stage::Last, at(5)));
    assert_eq!(schedule.due(Stage::Last, at(600)), look(&["judged"]));
}

#[test]
fn each_stage_lists_what_a_target_left() {
    let (kind, mut schedule) = (proxy_kind(), staged());
    let notes = noted(&[&proxies("a", "[x]", "1")]);
    schedule.arrange(KnownTargets::new(&notes, &config_maps(&[], &["m"])), at(1000));
    assert_eq!((next_duty(&mut schedule, at(1004)), next_duty(&mut schedule, at(1005))), (None, list(&["x"])));
    schedule.find(&kind, &id("held"), Stage::Urgent, at(1005));
    schedule.end_list(&kind, Stage::Urgent);
    schedule.end_look(&kind, &"held".into(), LookEnd::Cleaned, at(1006));
    assert_eq!((schedule.next_due(), schedule.finished(&kind)), (Some(at(1600)), vec![]));
    assert_eq!(next_duty(&mut schedule, at(1600)), list(&["x"]));
    schedule.find(&kind, &id("held"), Stage::Last, at(1600));
    schedule.end_list(&kind, Stage::Last);
    assert_eq!((next_duty(&mut schedule, at(1600)), schedule.finished(&kind)), (look(&["held"]), vec![]));
    schedule.end_look(&kind, &"held".into(), LookEnd::Cleaned, at(1600));
    assert_eq!(schedule.finished(&kind).len(), 1);
}

#[test]
fn no_list_follows_notes_that_are_proved_unused() {
    let (kind, mut schedule) = (proxy_kind(), staged());
    let notes = noted(&[&proxies("a", "[x]", "1")]);
    schedule.arrange(KnownTargets::new(&notes, &config_maps(&[], &[])), at(1000));
    assert_eq!(next_duty(&mut schedule, at(1005)), list(&["x"]));
    let unused = schedule.unproved(&kind);
    schedule.forget(&kind, &unused);
    schedule.end_list(&kind, Stage::Urgent);
    assert_eq!(schedule.next_due(), None, "without a note, it would list every namespace");
}

#[test]
fn a_short_patience_needs_no_urgent_stage() {
    let stages = |seconds| {
        let settings = SweepSettings::of_conditions(Duration::from_secs(seconds)).with_finalizers();
        settings.stages().collect::<Vec<_>>()
    };
    assert_eq!((stages(6), stages(5)), (vec![Stage::Urgent, Stage::Last], vec![Stage::Last]));
}

/// One step of a history: the new configuration, and its duration.
fn steps() -> impl Strategy<Value = Vec<(usize, bool, u64)>> {
    proptest::collection::vec((0..4_usize, any::<bool>(), 1..900_u64), 1..20)
}

proptest! {
    /// Whatever happens to one target's document, a formerly selected object is swept only after its ConfigMap has been
    /// complete and has selected it no more for ten minutes without interruption.
    #[test]
    fn no_history_touches_what_is_wanted_or_in_doubt(history in steps()) {
        let texts = [Some(proxies("a", "[x]", "1")), Some(proxies("a", "[x]", "2")), Some(proxies("b", "[x]", "1")), None];
        let subject = object(Some("x"), "1");
        let mut notes = noted(&[&proxies("a", "[x]", "1")]);
        let mut schedule = schedule();
        let (mut now, mut left_since) = (at(0), None);
        let mut last = config_maps(&[], &[]);
        for (text, is_whole, seconds) in history {
            let target = texts[text].clone();
            // A document that becomes invalid leaves its last valid version active.
            let targets = if is_whole { target.iter().map(|target| (target.name.clone(), target.clone())).collect() } else { last.targets.clone() };
            let whole = if is_whole { BTreeSet::from(["m".to_owned()]) } else { BTreeSet::new() };
            let world = Configuration { targets, whole, ..config_maps(&[], &[]) };
            world.targets.values().for_each(|target| notes.add(target));
            schedule.arrange(KnownTargets::new(&notes, &world), now);
            let judged = KnownTargets::new(&notes, &world).judge(&proxy_kind(), &subject);
            left_since = if judged == Judgement::Left { left_since.or(Some(now)) } else { None };
            let end = now + Duration::from_secs(seconds);
            while let Some(due) = schedule.next_due().filter(|due| *due <= end) {
                let due = due.max(now);
                match next_duty(&mut schedule, due) {
                    Some(Duty::List(kind, _)) => {
                        if matches!(judged, Judgement::Left | Judgement::Undecided) {
                            schedule.find(&kind, &subject.id, Stage::Last, due);
                        }
                        schedule.end_list(&kind, Stage::Last);
                    }
                    Some(Duty::Look(kind, _)) => {
                        if judged == Judgement::Left {
                            let since = left_since.unwrap_or(due);
                            prop_assert!(due.is_past(since, PATIENCE), "{since:?} {due:?}");
                        }
                        let look = if judged == Judgement::Undecided { LookEnd::Undecided } else { LookEnd::Settled };
                        schedule.end_look(&kind, &subject.id.uid, look, due);
                    }
                    None => prop_assert!(false, "something is due"),
                }
                let finished = schedule.finished(&proxy_kind());
                for selection in &finished {
                    prop_assert!(!world.targets.contains_key(&selection.target) || selection.namespaces != ["x"]);
                    notes.remove(selection);
                }
                if !finished.is_empty() {
                    schedule.strike_out(&proxy_kind(), false, due);
                }
            }
            now = end;
            last = world;
        }
    }

    /// No text on the Lease breaks the parser, and parsed notes are written unchanged.
    #[test]
    fn no_annotation_breaks_the_reader(text in r#"[\[\]{}":,a-c]{0,40}"#) {
        let (notes, _) = Selections::parse(&text);
        prop_assert_eq!(Selections::parse(&notes.to_string()), (notes, 0));
    }
}

#[test]
fn labels_decide_only_where_they_were_read() {
    // An object without labels is outside every selection that requires one.
    let bare = LeanObject::prune(&json!({"metadata": {"namespace": "x", "uid": "u"}}), &FieldPaths::default());
    assert_eq!(bare.view.open().pointer("/metadata/labels"), None::<&Value>);
    let one = proxies("a", "[x]", "1");
    let world = config_maps(&[&one], &["m"]);
    assert_eq!(KnownTargets::new(&noted(&[&one]), &world).judge(&proxy_kind(), &bare), Judgement::Left);
}

#[test]
fn a_forgotten_note_is_released_until_its_target_returns() {
    let lost = proxies("lost", "[x]", "1");
    let mut notes = noted(&[&lost]);
    let hash_of = |notes: &Selections| {
        let (selection, note) = notes.iter().next().unwrap();
        note.hash(selection)
    };
    let state = |notes: &Selections, world: &Configuration| {
        let (selection, note) = notes.iter().next().unwrap();
        let known = KnownTargets::new(notes, world);
        (known.state_of(selection, note), known.is_decided(selection, note))
    };
    let said = |text: String| Configuration { forgotten: [("lost".to_owned(), text)].into(), ..config_maps(&[], &[]) };
    assert_eq!(state(&notes, &config_maps(&[], &[])), (TargetState::Missing, false));
    let first = hash_of(&notes);
    let world = said(format!("0 {first}"));
    assert_eq!(state(&notes, &world), (TargetState::Forgotten, true));
    assert_eq!(KnownTargets::new(&notes, &world).judge(&proxy_kind(), &object(Some("x"), "1")), Judgement::Left);
    assert_eq!(state(&notes, &said("0 1".to_owned())), (TargetState::Missing, false), "another note");
    // A live document wins, and the old word of the person is void for good.
    let back = Configuration {
        whole: ["m".to_owned()].into(),
        forgotten: world.forgotten.clone(),
        ..config_maps(&[&lost], &[])
    };
    assert_eq!(state(&notes, &back), (TargetState::Live, true));
    notes.add(&lost);
    notes.outlive("lost", &world.forgotten["lost"]);
    assert_ne!(hash_of(&notes), first);
    assert_eq!(state(&notes, &world), (TargetState::Missing, false));
    let (read, _) = Selections::parse(&notes.to_string());
    assert_eq!(read, notes, "the round is on the Lease");
}

#[test]
fn nothing_of_a_taken_or_former_target_is_decided() {
    let target = proxies("a", "[x]", "1");
    let notes = noted(&[&target]);
    for state in [TargetState::Taken, TargetState::Former] {
        let states = [("a".to_owned(), state)].into();
        for targets in [vec![&target], vec![]] {
            let world = Configuration { states: BTreeMap::clone(&states), ..config_maps(&targets, &["m"]) };
            let judgement = KnownTargets::new(&notes, &world).judge(&proxy_kind(), &object(Some("x"), "2"));
            assert_eq!(judgement, Judgement::Undecided, "{state:?}");
        }
    }
}

#[test]
fn a_note_goes_where_no_object_needs_it() {
    let (former, present) = (proxies("former", "[x]", "1"), proxies("present", "[x]", "1"));
    let mut moved = proxies("present", "[x]", "1");
    Arc::get_mut(&mut moved).unwrap().scope.id = ScopeId::of("elsewhere");
    let claiming = |tier: &str, scope: ScopeId| {
        let mut fields = FieldPaths::default();
        fields.insert(vec!["metadata".to_owned(), "labels".to_owned()]);
        let message = format!("correction 1, owns \"p\": created [scope {scope}]");
        LeanObject::prune(
            &json!({"metadata": {"namespace": "x", "name": "p", "uid": "u", "labels": {"tier": tier}}, "status": {"conditions": [
                {"type": "driftCorrected", "status": "True", "reason": "CorrectionApplied", "message": message}]}}),
            &fields,
        )
    };
    let here = present.scope.id;
    let mut labels = FieldPaths::default();
    labels.insert(vec!["metadata".to_owned(), "labels".to_owned()]);
    let unreadable = LeanObject::prune(
        &json!({"metadata": {"namespace": "x", "name": "p", "uid": "u", "labels": {"tier": "1"}}, "status": {"conditions": [
            {"type": "driftCorrected", "status": "True", "reason": "OfLaterVersion", "message": "owns what it may"}]}}),
        &labels,
    );
    for (case, active, seen, is_marked, stays) in [
        ("selected, and its claim is known", &present, claiming("1", here), true, false),
        ("not selected", &present, claiming("2", here), true, true),
        ("not selected, and without a mark", &present, object(Some("x"), "2"), false, false),
        ("elsewhere", &present, object(Some("y"), "2"), true, false),
        ("selected, with a claim in the former scope", &moved, claiming("1", here), true, true),
        ("selected, with a claim in the present scope", &moved, claiming("1", moved.scope.id), true, false),
        ("selected, with a record of a later version", &moved, unreadable, true, true),
    ] {
        let world = config_maps(&[active], &["m"]);
        let mut unused = unused_notes::UnusedNotes::new(vec![Selection::of(&former)]);
        unused.see(KnownTargets::new(&Selections::default(), &world), &proxy_kind(), &seen, is_marked);
        assert_eq!(unused.end().is_empty(), stays, "{case}");
    }
}

#[test]
fn a_kind_is_listed_for_missing_names_and_former_scopes() {
    let (former, present) = (proxies("former", "[x]", "1"), proxies("present", "[y]", "1"));
    let mut moved = proxies("present", "[y]", "1");
    Arc::get_mut(&mut moved).unwrap().scope.id = ScopeId::of("elsewhere");
    for (notes, world, expected) in [
        (noted(&[&former, &present]), config_maps(&[&present], &["n"]), vec!["former"]),
        (noted(&[&present, &moved]), config_maps(&[&moved], &["m"]), vec!["present"]),
        (noted(&[&present]), config_maps(&[&present], &["m"]), vec![]),
    ] {
        let mut schedule = schedule();
        schedule.arrange(KnownTargets::new(&notes, &world), at(0));
        let unproved = schedule.unproved(&proxy_kind());
        assert_eq!(unproved.iter().map(|note| note.target.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(next_duty(&mut schedule, at(600)).is_some(), !expected.is_empty());
        schedule.forget(&proxy_kind(), &unproved);
        assert_eq!(schedule.unproved(&proxy_kind()), []);
    }
}
