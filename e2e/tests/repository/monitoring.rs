//! Alerts and dashboard name metrics that exist, and the documentation has a row for each metric and a section for each alert.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use drift_controller::engine::corrections::Held;
use drift_poller::engine::object::overview::DELETION_STAYS_AFTER;
use serde_json::Value;

use crate::root;

/// Where metrics are registered, with what their names begin with.
const SOURCES: [(&str, &str); 3] =
    [("poller/src", "drift_poller_"), ("controller/src", "drift_controller_"), ("shared/kube/src", "drift_")];

/// The page with a section for each alert.
const ALERTS_PAGE: &str = "docs/troubleshooting/alerts.md";

/// What the text form puts behind a name.
const SUFFIXES: [&str; 5] = ["_total", "_bucket", "_count", "_sum", "_info"];

/// The alerts by their names.
fn rules() -> BTreeMap<String, Value> {
    let document: Value = serde_saphyr::from_str(&component("rules.yaml")).unwrap();
    let rules = document["spec"]["groups"][0]["rules"].as_array().unwrap();
    rules.iter().map(|rule| (rule["alert"].as_str().unwrap().to_owned(), rule.clone())).collect()
}

/// The labels by which an alert is aggregated. Alerts with absent() have those that they select by.
fn labels(rule: &Value) -> BTreeSet<&str> {
    let expression = rule["expr"].as_str().unwrap();
    match expression.split_once(" by (") {
        Some((_, rest)) => rest.split(')').next().unwrap().split(", ").collect(),
        None => ["program", "namespace"].into(),
    }
}

fn component(file: &str) -> String {
    fs::read_to_string(root().join("manifests/components/monitoring").join(file)).unwrap()
}

fn bare(name: &str) -> String {
    SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name).to_owned()
}

/// The metrics that a text speaks of.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("drift_")).map(bare).collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The metrics that the programs register, tests apart.
fn registered() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (folder, prefix) in SOURCES {
        for file in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            let program = text.split("#[cfg(test)]").next().unwrap();
            let calls = program.split(".register(").skip(1);
            let literals = calls.filter_map(|call| call.trim_start().strip_prefix('"')?.split('"').next());
            names.extend(literals.map(|name| bare(&format!("{prefix}{name}"))));
        }
    }
    names
}

#[test]
fn the_reference_lists_every_metric_and_no_other() {
    let guide = fs::read_to_string(root().join("docs/reference/metrics.md")).unwrap();
    let rows = guide.lines().filter(|line| line.starts_with("| `drift_"));
    let listed: BTreeSet<String> = rows.flat_map(|row| named(row.split('|').nth(1).unwrap())).collect();
    assert_eq!(listed, registered());
}

#[test]
fn alerts_name_holds_that_exist() {
    let rules = component("rules.yaml");
    let lists = rules.split("why=~\"").skip(1).filter_map(|rest| rest.split('"').next());
    let named: Vec<&str> = lists.flat_map(|list| list.split('|')).collect();
    let unknown: Vec<_> = named.iter().filter(|word| Held::parse(word).is_none()).collect();
    assert!(!named.is_empty() && unknown.is_empty(), "{named:?}, unknown {unknown:?}");
}

#[test]
fn each_hold_that_needs_a_person_has_an_alert() {
    let rules = component("rules.yaml");
    let of = |alert: &str| {
        let (_, rule) = rules.split_once(&format!("- alert: {alert}\n")).unwrap();
        let (_, rest) = rule.split_once("=~\"").unwrap();
        rest.split('"').next().unwrap().split('|').map(|word| Held::parse(word).unwrap()).collect::<Vec<_>>()
    };
    // DriftCreationInDoubt and DriftBreakerOpen are about one hold each.
    let alone = [Held::CreationInDoubt, Held::BreakerOpen];
    let alerted = of("DriftNeedsDecision").into_iter().chain(of("DriftIdentityDisputed")).chain(alone);
    assert_eq!(alerted.collect::<BTreeSet<_>>(), Held::BY_PERSON.iter().copied().collect());
}

#[test]
fn alerts_and_dashboard_name_metrics_that_exist() {
    let registered = registered();
    for file in ["rules.yaml", "dashboard.json"] {
        let text = component(file);
        let unknown: Vec<String> = named(&text).difference(&registered).cloned().collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}");
    }
    let dashboard: Value = serde_json::from_str(&component("dashboard.json")).unwrap();
    let shown = named(&dashboard["panels"].to_string());
    let missing: Vec<&String> = registered.difference(&shown).filter(|name| *name != "drift_cleaned_objects").collect();
    assert!(missing.is_empty(), "no panel shows {missing:?}");
}

#[test]
fn every_alert_has_its_section() {
    let guide = fs::read_to_string(root().join(ALERTS_PAGE)).unwrap();
    let rules = rules();
    let alerts: BTreeSet<&str> = rules.keys().map(String::as_str).collect();
    let explained: BTreeSet<&str> = guide.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(explained, alerts);
    for (alert, rule) in &rules {
        let section = format!("{ALERTS_PAGE}#{}", alert.to_lowercase());
        assert_eq!(rule["annotations"]["runbook_url"], section);
    }
}

#[test]
fn every_summary_names_its_subject_first() {
    const TARGET: &str = "Target {{ $labels.target }} ";
    for (alert, rule) in rules() {
        let summary = rule["annotations"]["summary"].as_str().unwrap();
        let names = |start: &str| summary.starts_with(start);
        let is_named = match labels(&rule).contains("target") {
            true => names(TARGET),
            false => names("Namespace {{ $labels.namespace }} ") || names("drift-"),
        };
        assert!(is_named, "{alert}: {summary}");
    }
}

#[test]
fn page_and_alert_agree_on_long_deletions() {
    let rules = rules();
    let (_, limit) = rules["DriftDeletionStays"]["expr"].as_str().unwrap().rsplit_once("> ").unwrap();
    assert_eq!(limit.trim().parse(), Ok(DELETION_STAYS_AFTER.as_secs()));
}

/// The alerts that a list of matchers names. Several matchers would be a conjunction.
fn matched(matchers: &Value) -> Vec<&str> {
    let [matcher] = matchers.as_array().unwrap().as_slice() else { unreachable!("one matcher: {matchers}") };
    matcher.as_str().unwrap().split('"').nth(1).unwrap().split('|').collect()
}

#[test]
fn inhibition_rules_can_match() {
    let guide = fs::read_to_string(root().join("docs/guides/operate.md")).unwrap();
    let (_, inhibiting) = guide.split_once("```yaml\ninhibit_rules:").unwrap();
    let inhibiting: Value = serde_saphyr::from_str(inhibiting.split("```").next().unwrap()).unwrap();
    let alerts = rules();
    for rule in inhibiting.as_array().unwrap() {
        let [sources, targets] = ["source_matchers", "target_matchers"].map(|list| matched(&rule[list]));
        let equal = rule["equal"].as_array().unwrap();
        for name in sources.iter().chain(&targets) {
            let alert = alerts.get(*name).unwrap_or_else(|| unreachable!("no alert {name}"));
            // Without the label on both sides the rule matches nothing.
            let missing: Vec<_> =
                equal.iter().filter(|label| !labels(alert).contains(label.as_str().unwrap())).collect();
            assert!(missing.is_empty(), "{name} has no label {missing:?}");
        }
        for (source, target) in sources.iter().flat_map(|source| targets.iter().map(move |target| (*source, *target))) {
            let expression = alerts[target]["expr"].as_str().unwrap();
            assert!(source != target && !expression.contains(source), "{target} already excludes {source}");
        }
    }
}
