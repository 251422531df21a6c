//! The sweep over reports: what it lists, deletes and forgets, and when.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::names::INSTALLATION_ANNOTATION;
use drift_api::object::report::report_fields;
use drift_language::{DocumentName, Target, parse_document};
use serde_json::json;

use super::*;
use crate::cleanup::Selections;
use crate::cleanup::tests::{config_maps, noted};
use crate::config::Configuration;

const OURS: &str = "drift-system/drift-poller";
const PATIENCE: Duration = Duration::from_secs(600);

fn target(name: &str, objects: &str) -> Arc<Target> {
    let text = format!(
        "{{apiVersion: driftpoller.dev/v1alpha1, kind: PollTarget, metadata: {{name: {name}}}, spec: {{objects: \
         {{apiVersion: g.example/v1, kind: Ox, {objects}}}, identity: x, read: {{http: {{url: \
         'http://h.example/'}}}}, compare: {{desired: {{a: 1}}}}}}}}"
    );
    let document = DocumentName { config_map: name.to_owned(), key: "k".to_owned() };
    Arc::new(parse_document(&document, &text).unwrap())
}

fn reporting(name: &str, namespaces: &str) -> Arc<Target> {
    let namespaces = if namespaces.is_empty() { String::new() } else { format!(", namespaces: {namespaces}") };
    target(name, &format!("conditions: Report{namespaces}"))
}

fn report(installation: &str, namespace: &str, object: &str) -> LeanObject {
    let annotations = json!({INSTALLATION_ANNOTATION: installation});
    let metadata = json!({"namespace": namespace, "name": format!("ox.{object}"), "uid": format!("report-{object}"),
        "resourceVersion": "7", "annotations": annotations});
    let about = json!({"apiVersion": "g.example/v1", "kind": "Ox", "name": object, "uid": object});
    LeanObject::prune(&json!({"metadata": metadata, "object": about}), &report_fields())
}

fn at(seconds: u64) -> Moment {
    Moment::from_start(Duration::from_secs(seconds))
}

/// The sweep, with the reports of the cluster.
struct World {
    sweep: ReportSweep,
    notes: Selections,
    configuration: Configuration,
    reports: Vec<LeanObject>,
    /// Objects of active targets, which are all listed.
    kept: BTreeSet<&'static str>,
    /// The codes with which places refuse their list.
    refused: BTreeMap<Place, u16>,
    /// Deletions that the API server refuses.
    is_read_only: bool,
}

impl World {
    fn new(notes: Selections, configuration: Configuration, reports: Vec<LeanObject>) -> Self {
        let sweep = ReportSweep::new(OURS, PATIENCE, Moment::START);
        let (kept, refused) = (BTreeSet::new(), BTreeMap::new());
        Self { sweep, notes, configuration, reports, kept, refused, is_read_only: false }
    }

    /// Does everything that is due. Returns what was done, and the time of the next look.
    fn go_on(&mut self, now: Moment) -> (Vec<String>, Moment) {
        let Self { sweep, notes, configuration, reports, kept, refused, is_read_only } = self;
        let mut done = Vec::new();
        loop {
            let known = KnownTargets::new(notes, configuration);
            let judge = |report: &LeanObject| {
                let uid = object_of(report).unwrap().1;
                let owner = configuration.targets.keys().next().filter(|_| kept.contains(&*uid));
                let told: Vec<Arc<str>> = owner.map(|name| name.as_str().into()).into_iter().collect();
                let kind = KindName::new("g.example/v1", "Ox");
                known.judge_report(&kind, report.id.namespace.as_deref(), &told, |_| true)
            };
            match sweep.step(known, judge, now) {
                SweepStep::Wait(until) => return (done, until),
                SweepStep::Read(place) => match refused.get(&place) {
                    Some(code) => {
                        let is_news = sweep.fail_list(known, Some(*code), "refused");
                        done.push(format!("{} refuses{}", shown(&place), if is_news { ", told" } else { "" }));
                    }
                    None => {
                        let is_in = |report: &&LeanObject| {
                            place.is_none() || report.id.namespace.as_deref() == place.as_deref()
                        };
                        sweep.take_page(reports.iter().filter(is_in).cloned().collect());
                        // The report after the last page follows.
                        while let SweepStep::Delete(report) = sweep.step(known, judge, now) {
                            done.push(format!("delete {}", report.id.name));
                            if !*is_read_only {
                                reports.retain(|one| one.id.uid != report.id.uid);
                            }
                            sweep.end_deletion(!*is_read_only);
                        }
                        done.push(format!("list {}", shown(&place)));
                        sweep.end_list();
                    }
                },
                SweepStep::Delete(_) => unreachable!("a page is there"),
                SweepStep::Forget(unused) => {
                    unused.iter().for_each(|note| notes.remove(note));
                    done.push(format!(
                        "forget {}",
                        unused.iter().map(|note| &*note.target).collect::<Vec<_>>().join(" ")
                    ));
                }
            }
        }
    }

    fn is_noted(&self) -> bool {
        self.notes.iter().next().is_some()
    }
}

fn shown(place: &Place) -> &str {
    place.as_deref().unwrap_or("all")
}

#[test]
fn a_report_goes_after_two_looks_with_the_patience_between() {
    let removed = reporting("t", "[n]");
    let reports = vec![report(OURS, "n", "a"), report("other/drift-poller", "n", "b"), report("", "n", "c")];
    let mut world = World::new(noted(&[&removed]), config_maps(&[], &["t"]), reports);
    assert_eq!(world.go_on(at(599)), (vec![], at(600)), "a new term waits for the lists of its targets");
    assert_eq!(world.go_on(at(600)), (vec!["list n".to_owned()], at(1200)));
    assert_eq!(world.go_on(at(1199)).0, Vec::<String>::new());
    let (done, next) = world.go_on(at(1200));
    assert_eq!((done.join(", "), next), ("delete ox.a, list n, forget t".to_owned(), at(1200 + 3600)));
    let left: Vec<&str> = world.reports.iter().map(|report| &*report.id.uid).collect();
    assert_eq!(left, ["report-b", "report-c"], "other installations have them");
    assert_eq!(world.go_on(at(4800)), (vec![], at(8400)), "nothing is listed for no target");
}

#[test]
fn a_new_term_looks_twice_again() {
    let removed = reporting("t", "[n]");
    let mut world = World::new(noted(&[&removed]), config_maps(&[], &["t"]), vec![report(OURS, "n", "a")]);
    assert_eq!(world.go_on(at(600)).0, ["list n"]);
    world.sweep = ReportSweep::new(OURS, PATIENCE, at(700));
    assert_eq!(world.go_on(at(1299)), (vec![], at(1300)));
    assert_eq!(world.go_on(at(1300)), (vec!["list n".to_owned()], at(1900)));
    assert_eq!(world.go_on(at(1900)).0, ["delete ox.a", "list n", "forget t"]);
}

#[test]
fn a_target_that_returns_keeps_its_reports() {
    let returning = reporting("t", "[n]");
    let mut world = World::new(noted(&[&returning]), config_maps(&[], &["t"]), vec![report(OURS, "n", "a")]);
    world.go_on(at(600));
    (world.configuration, world.kept) = (config_maps(&[&returning], &["t"]), BTreeSet::from(["a"]));
    assert_eq!(world.go_on(at(1200)), (vec!["list n".to_owned()], at(4800)));
    // It is removed again, and has its whole patience.
    (world.configuration, world.kept) = (config_maps(&[], &["t"]), BTreeSet::new());
    world.sweep.note_change(at(1300));
    assert_eq!(world.go_on(at(1309)), (vec![], at(1310)));
    assert_eq!(world.go_on(at(1310)), (vec!["list n".to_owned()], at(1910)));
    // It returns while the deletion waits for its place.
    let known = KnownTargets::new(&world.notes, &world.configuration);
    assert_eq!(world.sweep.step(known, |_| Judgement::Left, at(1910)), SweepStep::Read(Some("n".to_owned())));
    world.sweep.take_page(world.reports.clone());
    let step = world.sweep.step(known, |_| Judgement::Left, at(1910));
    assert_eq!(step, SweepStep::Delete(world.reports[0].clone()));
    assert!(world.sweep.confirms(|_| Judgement::Left) && !world.sweep.confirms(|_| Judgement::Selected));
    world.sweep.end_deletion(false);
    assert!(!world.sweep.confirms(|_| Judgement::Left), "it was ended");
}

#[test]
fn a_place_that_refuses_keeps_only_its_own_notes() {
    let targets = [reporting("all", ""), reporting("one", "[n]"), reporting("two", "[m]")];
    let all: Vec<&Arc<Target>> = targets.iter().collect();
    for (case, refused, first, last, left) in [
        ("none", vec![], "list all", "delete ox.a, delete ox.b, list all, forget all one two", 0),
        (
            "rights in namespaces",
            vec![(None, 403)],
            "all refuses, told, list m, list n",
            "all refuses, delete ox.b, list m, delete ox.a, list n, forget one two",
            0,
        ),
        (
            "one namespace refuses",
            vec![(None, 403), (Some("m".to_owned()), 403)],
            "all refuses, told, m refuses, told, list n",
            "all refuses, m refuses, delete ox.a, list n, forget one",
            1,
        ),
        ("no answer", vec![(None, 500)], "all refuses, told", "all refuses", 2),
    ] {
        let reports = vec![report(OURS, "n", "a"), report(OURS, "m", "b")];
        let mut world = World::new(noted(&all), config_maps(&[], &["all", "one", "two"]), reports);
        world.refused = refused.into_iter().collect();
        assert_eq!(world.go_on(at(600)).0.join(", "), first, "{case}");
        assert_eq!(world.go_on(at(1200)).0.join(", "), last, "{case}");
        assert_eq!(world.reports.len(), left, "{case}");
        assert_eq!(world.is_noted(), case != "none", "{case}");
    }
}

#[test]
fn an_unanswered_list_is_repeated_soon() {
    let removed = reporting("t", "[n]");
    let mut world = World::new(noted(&[&removed]), config_maps(&[], &["t"]), Vec::new());
    world.refused = BTreeMap::from([(Some("n".to_owned()), 503)]);
    assert_eq!(world.go_on(at(600)).1, at(660));
    world.refused.clear();
    assert_eq!(world.go_on(at(660)), (vec!["list n".to_owned()], at(1200)));
    assert_eq!(world.go_on(at(1200)).0, ["list n", "forget t"]);
    world.notes = noted(&[&removed]);
    world.refused = BTreeMap::from([(Some("n".to_owned()), 403)]);
    let (done, next) = world.go_on(at(1200 + 3600));
    assert_eq!((done, next), (vec!["n refuses, told".to_owned()], at(1200 + 3600 + 600)), "told again");
}

#[test]
fn only_a_removed_or_forgotten_target_loses_its_reports() {
    let (here, other) = (reporting("t", "[n]"), reporting("other", "[x]"));
    let (moved, elsewhere) = (target("t", "namespaces: [n]"), reporting("t", "[m]"));
    let note = noted(&[&here]).iter().map(|(selection, note)| note.hash(selection)).next().unwrap();
    let mut forgotten = config_maps(&[], &[]);
    forgotten.forgotten.insert("t".to_owned(), note);
    for (case, configuration, is_deleted) in [
        ("active", config_maps(&[&here], &["t"]), true),
        ("active, with a wrong neighbour", config_maps(&[&here], &[]), false),
        ("its key is removed", config_maps(&[], &["t"]), true),
        ("another document is wrong", config_maps(&[&other], &["t"]), true),
        ("its ConfigMap is gone, or wrong", config_maps(&[], &["other"]), false),
        ("forgotten", forgotten, true),
        ("conditions on the objects", config_maps(&[&moved], &["t"]), true),
        ("other namespaces", config_maps(&[&elsewhere], &["t"]), true),
    ] {
        let mut world = World::new(noted(&[&here]), configuration, vec![report(OURS, "n", "a")]);
        world.go_on(at(600));
        world.go_on(at(1200));
        assert_eq!(world.reports.is_empty(), is_deleted, "{case}");
    }
    let unnoted = World::new(noted(&[&other]), config_maps(&[&other], &["other"]), vec![report(OURS, "n", "a")]);
    let known = KnownTargets::new(&unnoted.notes, &unnoted.configuration);
    let kind = KindName::new("g.example/v1", "Ox");
    assert_eq!(known.judge_report(&kind, Some("n"), &[], |_| true), Judgement::Foreign);
    assert_eq!(known.judge_report(&kind, Some("x"), &[], |_| false), Judgement::Unlisted);
    assert_eq!(known.judge_report(&kind, Some("x"), &["other".into()], |_| false), Judgement::Selected);
}

#[test]
fn a_note_stays_as_long_as_a_report_of_it_does() {
    let removed = reporting("t", "[n]");
    let mut world = World::new(noted(&[&removed]), config_maps(&[], &["t"]), vec![report(OURS, "n", "a")]);
    world.is_read_only = true;
    world.go_on(at(600));
    assert_eq!(world.go_on(at(1200)), (vec!["delete ox.a".to_owned(), "list n".to_owned()], at(4800)));
    assert!(world.is_noted());
    world.is_read_only = false;
    assert_eq!(world.go_on(at(4800)).0, ["delete ox.a", "list n", "forget t"]);
    // A missing target keeps its reports. Without one, its note protects nothing.
    let mut missing = World::new(noted(&[&removed]), config_maps(&[], &[]), vec![report(OURS, "n", "a")]);
    missing.go_on(at(600));
    missing.go_on(at(1200));
    assert!(missing.is_noted() && missing.reports.len() == 1);
    missing.reports.clear();
    assert_eq!(missing.go_on(at(4800)).0, ["list n", "forget t"]);
}

#[test]
fn many_changes_cause_one_look_a_minute() {
    let active = reporting("t", "[n]");
    let mut world = World::new(noted(&[&active]), config_maps(&[&active], &["t"]), Vec::new());
    let mut looks = Vec::new();
    for second in 600..1000 {
        world.sweep.note_change(at(second));
        if !world.go_on(at(second)).0.is_empty() {
            looks.push(second);
        }
    }
    assert_eq!(looks, [600, 660, 720, 780, 840, 900, 960]);
}

#[test]
fn notes_of_reports_concern_no_object() {
    let removed = reporting("t", "[n]");
    let (notes, configuration) = (noted(&[&removed]), config_maps(&[], &[]));
    let known = KnownTargets::new(&notes, &configuration);
    let kind = KindName::new("g.example/v1", "Ox");
    assert!(known.kinds().is_empty() && known.of_kind(&kind).notes.is_empty());
    assert!(known.incomplete_scopes(|_| true).is_complete(removed.scope.id), "a report has no claim");
    assert_eq!(known.judge(&kind, &report(OURS, "n", "a")), Judgement::Foreign);
    assert_eq!(known.missing().keys().collect::<Vec<_>>(), ["t"]);
    let text = notes.to_string();
    assert!(text.ends_with(r#""namespaces":["n"],"conditions":"Report"}]"#), "{text}");
    assert_eq!(Selections::parse(&text), (notes, 0));
}
