//! The documentation holds what it promises: its targets parse, its links lead somewhere, its tables are complete.

use std::fs;
use std::path::PathBuf;

use drift_api::condition::{ConditionStatus, CorrectedReason, ObservedReason};
use drift_api::held_corrections::Held;
use drift_e2e::binaries::Kubernetes;
use drift_e2e::pages::{code, yaml_blocks};
use drift_language::DocumentName;
use drift_language::find_documents;
use drift_language::parse_document;
use serde_json::{Value, json};

use crate::root;

/// Every page with its text: those at the root, and all below `docs`.
pub(crate) fn pages() -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    let mut folders = vec![root().join("docs")];
    let at_root = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = at_root.filter(|path| path.is_file()).collect();
    while let Some(folder) = folders.pop() {
        let inside = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (below, files): (Vec<_>, Vec<_>) = inside.partition(|path| path.is_dir());
        folders.extend(below);
        paths.extend(files);
    }
    for path in paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(&path).unwrap();
        pages.push((path, text));
    }
    pages
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

fn documents(block: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(block).unwrap_or_default()
}

#[test]
fn every_target_in_the_documentation_is_good() {
    let mut count = 0;
    for (path, text) in pages() {
        let found: Vec<_> = yaml_blocks(&text).iter().flat_map(|block| find_documents(block)).collect();
        for document in &found {
            let name = DocumentName { config_map: path.display().to_string(), key: "block".to_owned() };
            let target = parse_document(&name, &document.text);
            let target = target.unwrap_or_else(|problems| panic!("{problems:#?}\n{}", document.text));
            assert_eq!(target.unbounded_grants(), [], "{}", document.text);
            // An object that asks for more than the groups of its team gets nothing.
            if document.text.contains("memberOf: \"${self.spec.memberOf}\"") {
                let spec = json!({"roleName": "web", "memberOf": ["app_readers", "pg_execute_server_program"]});
                assert_eq!(target.unmet_requirement(&json!({"spec": spec})), Ok(Some("groups begin with app_")));
            }
        }
        // Whatever calls itself one, in whatever block, was among them. Helm's values have a test of their own.
        let is_target = |line: &str| line.trim() == "kind: PollTarget";
        let calls_itself = code(&text).filter(|line| is_target(line)).count();
        let values = yaml_blocks(&text).into_iter().filter(|block| block.starts_with("# shared.yaml"));
        let in_values: usize = values.map(|block| block.lines().filter(|line| is_target(line)).count()).sum();
        let calls_itself = calls_itself - in_values;
        assert_eq!(found.len(), calls_itself, "{} has a target in a block that is not ```yaml", path.display());
        count += found.len();
    }
    assert!(count >= 15, "only {count} targets were found");
}

/// The words in the first cells of the table with this head, in their order.
fn words_of_table(page: &str, head: &str) -> Vec<String> {
    let (_, table) = page.split_once(head).unwrap();
    let rows = table.lines().skip(1).map_while(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").next().unwrap().trim_end_matches('`'));
    cells.flat_map(|cell| cell.split("`, `").map(str::to_owned)).collect()
}

#[test]
fn troubleshooting_has_a_row_for_each_reason() {
    let page = page("docs/troubleshooting/README.md");
    let holds: Vec<_> = Held::ALL.iter().map(|why| why.as_str()).collect();
    assert_eq!(words_of_table(&page, "\n| Hold | Meaning | Do |\n"), holds);
    let (_, observed) = page.split_once("\n## Reasons of driftObserved\n").unwrap();
    let is_trouble = |reason: &&ObservedReason| reason.status() != ConditionStatus::False;
    let reasons: Vec<_> = ObservedReason::ALL.iter().filter(is_trouble).map(|reason| reason.as_str()).collect();
    assert_eq!(words_of_table(observed, "\n| Reason | Do |\n"), reasons);
    let (_, corrected) = page.split_once("\n## Reasons of driftCorrected\n").unwrap();
    let reasons: Vec<_> = CorrectedReason::ALL.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(words_of_table(corrected, "\n| Reason | Do |\n"), reasons);
}

#[test]
fn an_example_with_a_page_has_its_documents() {
    let pages = [
        ("docker-engine", "docker-engine"),
        ("postgres-rows", "postgres-rows"),
        ("postgres", "postgres-roles"),
        ("postgres-all-roles", "postgres-all-roles"),
        ("backup-job", "backup-job"),
        ("crossplane", "nudge-crossplane"),
        ("load-balancer", "load-balancer"),
        ("database-statefulset", "database-statefulset"),
        ("service-load-balancer", "service-load-balancer"),
    ];
    for (page_name, folder) in pages {
        let text = page(&format!("docs/cookbook/{page_name}.md"));
        let folder = root().join("manifests/examples").join(folder);
        let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let mut in_files = 0;
        for file in files {
            let written = fs::read_to_string(&file).unwrap();
            let stands = yaml_blocks(&text).iter().any(|block| block.contains(&written));
            assert!(stands, "{page_name}.md differs from {}", file.display());
            in_files += documents(&written).len();
        }
        let on_page: usize = yaml_blocks(&text).iter().map(|block| documents(block).len()).sum();
        assert_eq!(in_files, on_page, "{page_name}.md has documents that its folder lacks, or has one twice");
    }
}

#[test]
fn every_reason_has_its_row() {
    let guide = page("docs/reference/conditions.md");
    let observed = ObservedReason::ALL.iter().map(|reason| (reason.status(), reason.as_str()));
    let corrected = CorrectedReason::ALL.iter().map(|reason| (reason.status(), reason.as_str()));
    for (status, reason) in observed.chain(corrected) {
        let status = match status {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        };
        assert!(guide.contains(&format!("| {status} | {reason} | ")), "{status} {reason} is missing");
    }
}

/// Where the links of a page lead, without those to other sites.
fn links(text: &str) -> Vec<&str> {
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.map(|(link, _)| link).filter(|link| !link.contains("://")).collect()
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_leads_somewhere() {
    for (path, text) in pages() {
        for link in links(&text) {
            let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", path.display());
            if wanted.is_empty() {
                continue;
            }
            let text = fs::read_to_string(&target).unwrap();
            let headings = text.lines().filter(|line| line.starts_with('#'));
            let found = headings.map(|line| anchor(line.trim_start_matches('#').trim())).any(|known| known == wanted);
            assert!(found, "{}: {link} names no heading", path.display());
        }
    }
}

#[test]
fn pages_name_the_tested_kubernetes() {
    let [oldest, usual, newest] = Kubernetes::ALL.map(|version| version.minor().unwrap());
    let expected = format!("ested on {oldest}, {usual} and {newest}");
    for name in ["README.md", "docs/get-started.md", "docs/reference/limits.md"] {
        assert!(page(name).contains(&expected), "{name} does not say `T{expected}`");
    }
}

#[test]
fn every_test_of_the_reliability_page_exists() {
    let text = page("docs/design/reliability.md");
    let heads = ["| Fault |", "|---"];
    let rows = text.lines().filter(|line| line.starts_with('|') && !heads.iter().any(|head| line.starts_with(head)));
    let mut count = 0;
    for row in rows {
        let named = row.trim_end_matches("` |").rsplit_once("| `").and_then(|(_, test)| test.split_once("::"));
        let (file, name) = named.unwrap_or_else(|| panic!("no test in {row}"));
        let source = page(file);
        let before = source.split_once(&format!("fn {name}()")).map(|(before, _)| before);
        let attributes = before.and_then(|before| before.rsplit("\n\n").next());
        assert!(attributes.is_some_and(|lines| lines.contains("test]")), "{file} has no test {name}");
        count += 1;
    }
    assert!(count >= 40, "only {count} rows were found");
}
