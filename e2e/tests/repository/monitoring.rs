//! Alerts and dashboard name metrics that exist, and the documentation has a row for each metric and a section for each alert.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use drift_controller::engine::corrections::Held;
use serde_json::Value;

use crate::root;

/// Where metrics are registered, with what their names begin with.
const SOURCES: [(&str, &str); 3] =
    [("poller/src", "drift_poller_"), ("controller/src", "drift_controller_"), ("shared/kube/src", "drift_")];

/// The page with a section for each alert.
const ALERTS_PAGE: &str = "docs/troubleshooting/alerts.md";
/// The published page with a section for each alert.
const RUNBOOKS: &str = "https://driftpoller.dev/docs/troubleshooting/alerts";

/// What the text form puts behind a name.
const SUFFIXES: [&str; 5] = ["_total", "_bucket", "_count", "_sum", "_info"];

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
    let rules: Value = serde_saphyr::from_str(&component("rules.yaml")).unwrap();
    let guide = fs::read_to_string(root().join(ALERTS_PAGE)).unwrap();
    let rules = rules["spec"]["groups"][0]["rules"].as_array().unwrap();
    let alerts: BTreeSet<&str> = rules.iter().map(|rule| rule["alert"].as_str().unwrap()).collect();
    let explained: BTreeSet<&str> = guide.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(explained, alerts);
    for rule in rules {
        let section = format!("{RUNBOOKS}#{}", rule["alert"].as_str().unwrap().to_lowercase());
        assert_eq!(rule["annotations"]["runbook_url"], section);
    }
}

#[test]
fn inhibition_rules_name_alerts_that_exist() {
    let guide = fs::read_to_string(root().join("docs/guides/operate.md")).unwrap();
    let (_, rules) = guide.split_once("```yaml\ninhibit_rules:").unwrap();
    let rules: Value = serde_saphyr::from_str(rules.split("```").next().unwrap()).unwrap();
    let alerts = component("rules.yaml");
    let mut named = 0;
    for matcher in ["source_matchers", "target_matchers"] {
        for rule in rules.as_array().unwrap() {
            let matchers = rule[matcher].as_array().unwrap();
            assert_eq!(matchers.len(), 1, "several matchers are a conjunction: {rule}");
            let names = matchers[0].as_str().unwrap().split('"').nth(1).unwrap().split('|');
            for name in names {
                assert!(alerts.contains(&format!("- alert: {name}\n")), "{name}");
                named += 1;
            }
        }
    }
    assert!(named > 10, "{named}");
}
