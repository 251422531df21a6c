//! Exact messages for every mistake in a document, with position, expectation and the nearest valid word.
//!
//! A case of `cases.txt` changes one place of `target.yaml`. If messages changed, the actual table is written to the
//! file that the failure names, to be compared and copied.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::Path;

use drift_language::{DocumentName, parse_document};

const TARGET: &str = include_str!("target.yaml");
const CASES: &str = include_str!("cases.txt");

/// The text after a mark, line by line.
fn marked(case: &str, mark: &str) -> Vec<String> {
    let lines = case.lines().filter_map(|line| line.strip_prefix(mark));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect()
}

/// The document of a case. Additional lines get the indentation of the changed line.
fn document(case: &str) -> String {
    let (old, new) = (marked(case, "<"), marked(case, ">"));
    let old = old.join("\n");
    let start = TARGET.find(&old).unwrap_or_else(|| panic!("the target has no `{old}`"));
    let line = TARGET[..start].rsplit('\n').next().unwrap();
    let depth = line.len() - line.trim_start().len();
    let new = new.join(&format!("\n{}", " ".repeat(depth)));
    format!("{}{new}{}", &TARGET[..start], &TARGET[start + old.len()..])
}

fn problems(text: &str) -> Vec<String> {
    let name = DocumentName { config_map: "targets".to_owned(), key: "proxies.yaml".to_owned() };
    let found = parse_document(&name, text).err().unwrap_or_default();
    found.into_iter().map(|problem| format!("{}:{} {}", problem.line, problem.column, problem.message)).collect()
}

#[test]
fn the_target_itself_is_good() {
    assert_eq!(problems(TARGET), Vec::<String>::new());
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let mut found = String::new();
    let mut count = 0;
    for case in CASES.split("\n\n") {
        let kept = case.lines().filter(|line| !line.starts_with('!'));
        kept.for_each(|line| writeln!(found, "{line}").unwrap());
        if case.contains("\n> ") {
            problems(&document(case)).iter().for_each(|problem| writeln!(found, "! {problem}").unwrap());
            count += 1;
        }
        found.push('\n');
    }
    let found = format!("{}\n", found.trim_end());
    assert!(count >= 80, "only {count} cases");
    let without: Vec<_> = found.split("\n\n").filter(|case| case.contains("\n> ") && !case.contains("\n! ")).collect();
    assert!(without.is_empty(), "nothing is said of these: {without:#?}");
    if found != CASES {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases.txt");
        std::fs::write(&file, &found).unwrap();
        panic!("other messages than in cases.txt; as they are now: {}", file.display());
    }
}
