//! The patches in `e2e/mutants` apply to the sources, and name the histories that must find them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::root;

/// Stands for the histories of consecutive seeds in place of a known history.
const RANDOM: &str = "random histories";

/// Returns the head of each patch by file name. Git ignores it.
fn heads() -> BTreeMap<String, String> {
    let files = fs::read_dir(root().join("e2e/mutants")).unwrap().map(|entry| entry.unwrap().path());
    let head = |path: &Path| fs::read_to_string(path).unwrap().split("diff --git ").next().unwrap().to_owned();
    files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), head(&path))).collect()
}

/// Returns the histories that must find the fault of a patch.
fn found_by(head: &str) -> Vec<&str> {
    head.lines().filter_map(|line| line.strip_prefix("Found by: ")).collect()
}

/// Returns the tests in the files of this folder below the composed histories' one.
fn tests(files: impl Iterator<Item = std::path::PathBuf>) -> Vec<String> {
    let text: String = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    text.split("#[test]\nfn ").skip(1).map(|test| test.split('(').next().unwrap().to_owned()).collect()
}

#[test]
fn each_mutant_applies_to_the_sources() {
    for name in heads().keys() {
        let arguments = ["apply", "--check", &format!("e2e/mutants/{name}")];
        let output = Command::new("git").args(arguments).current_dir(root()).output();
        let output = output.unwrap_or_else(|error| panic!("git cannot be run: {error}. Install it for this test"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "e2e/mutants/{name} does not apply. Make the same fault in the present code, and replace the patch below its \
             head by the output of git diff\n{said}"
        );
    }
}

#[test]
fn each_mutant_says_who_must_find_it() {
    let composed = fs::read_dir(root().join("e2e/tests/composed")).unwrap().map(|entry| entry.unwrap().path());
    let tests = tests(composed);
    for (name, head) in heads() {
        let fault = head.lines().next().unwrap_or_default();
        assert!(
            fault.ends_with('.') && !fault.starts_with("Found by"),
            "{name} begins with no sentence about its fault"
        );
        let found_by = found_by(&head);
        assert!(!found_by.is_empty(), "{name} lacks a line `Found by: HISTORY` or `Found by: {RANDOM}`");
        let unknown: Vec<_> = found_by
            .into_iter()
            .filter(|history| *history != RANDOM && !tests.iter().any(|test| test == history))
            .collect();
        assert!(unknown.is_empty(), "{name} names histories that e2e/tests/composed lacks: {unknown:?}");
    }
}
