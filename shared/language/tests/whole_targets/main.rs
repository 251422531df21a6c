//! Whole targets, as users wrote them after the pages and examples of 29 November 2026. Later pages do not change them.
//!
//! Each must load as long as its API version is served. Their hashes must stay: a verdict and a claim are bound to
//! them. If other facts changed, the actual ones are written to the file that the failure names.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use drift_api::object::field_paths::FieldPaths;
use drift_language::{DocumentName, Target, parse_document};

const FACTS: &str = include_str!("facts.txt");

/// The texts, by the names of their files.
fn texts() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/whole_targets");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let targets = paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    let named = |path: std::path::PathBuf| {
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
    };
    targets.map(named).collect()
}

fn load(file: &str, text: &str) -> Target {
    let name = DocumentName { config_map: "targets".to_owned(), key: file.to_owned() };
    parse_document(&name, text).unwrap_or_else(|problems| panic!("{problems:#?}\n{text}"))
}

fn list(fields: &FieldPaths) -> String {
    fields.iter().map(|path| path.join(".")).collect::<Vec<_>>().join(" ")
}

/// The facts that are derived from all expressions of a target.
fn facts(target: &Target) -> String {
    let mut facts = String::new();
    let mut fact = |name: &str, fact: String| writeln!(facts, "{name}: {fact}").unwrap();
    fact("verdict hash", target.verdict_hash.clone());
    fact("document hash", target.document_hash.clone());
    fact("correct hash", format!("{:016x}", target.correct_hash));
    fact("scope", target.scope.id.to_string());
    fact("fields of polls", list(&target.poll_fields));
    fact("fields", list(&target.all_fields));
    fact("actions", format!("{:?}", target.correct.actions()));
    fact("uses differs", target.uses_differs().to_string());
    fact("left by updates", target.left_by_updates().join(" "));
    fact("lacking in updates", target.lacking_in_updates().join(" "));
    let shared = target.shared_requests().into_iter().map(|(place, _)| place.join("."));
    fact("shared requests", shared.collect::<Vec<_>>().join(" "));
    fact("credentials of read", format!("{:?}", target.credentials_of_read()));
    fact("credentials of correct", format!("{:?}", target.credentials_of_correct()));
    fact("secrets", format!("{:?}", target.needed_secrets()));
    facts
}

#[test]
fn targets_of_the_past_keep_their_hashes_and_fields() {
    let texts = texts();
    assert!(texts.len() >= 38, "only {} targets", texts.len());
    let found = texts.iter().map(|(file, text)| format!("# {file}\n{}", facts(&load(file, text))));
    let found = found.collect::<Vec<_>>().join("\n");
    if found != FACTS {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("facts.txt");
        fs::write(&file, &found).unwrap();
        panic!("other facts than in facts.txt; as they are now: {}", file.display());
    }
}
