//! The annotated target in docs/reference/target/README.md is made from the declarations of the sections.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

use drift_language::annotated_target;
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/reference/target/README.md");
const BEGIN: &str = "<!-- annotated target: begin -->\n";
const END: &str = "<!-- annotated target: end -->\n";

/// Writes the page anew instead of comparing, if it is set.
const WRITE: &str = "DRIFT_WRITE_ANNOTATED_TARGET";

#[expect(clippy::disallowed_methods, reason = "a person who runs the test sets the variable")]
#[test]
fn the_page_shows_the_annotated_target() {
    let (before, rest) = PAGE.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    // No other test reads a block in `yml`: the document shows ways that exclude each other.
    let page = format!("{before}{BEGIN}```yml\n{}```\n{END}{after}", annotated_target());
    if std::env::var_os(WRITE).is_some() {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/target/README.md"), page).unwrap();
    } else {
        assert_eq!(PAGE, page, "the page is old: run this test with {WRITE}=1");
    }
}

#[test]
fn the_annotated_target_is_yaml_with_every_section() {
    let document: Value = serde_saphyr::from_str(&annotated_target()).unwrap();
    assert_eq!(document["kind"], "PollTarget");
    for pointer in [
        "/spec/require/0/that",
        "/spec/read/http/steps/0/name",
        "/spec/read/http/auth/oauth2/tokenUrl",
        "/spec/compare/rules/0/tolerance",
        "/spec/correct/http/create/0/refusedWhen",
        "/spec/correct/http/delete/0/doneOn",
        "/spec/correct/postgres/create/0/sql",
        "/spec/correct/job/create/template",
    ] {
        assert!(document.pointer(pointer).is_some(), "{pointer} is missing");
    }
}
