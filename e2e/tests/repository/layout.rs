//! The layout of the pages: lines that fit a review, a README of one sitting, and an index for language models.

use std::fs;

use drift_e2e::pages::code;

use crate::documentation::pages;
use crate::root;

/// Characters of a line outside tables and code: two pages fit side by side on a screen.
const LINE: usize = 120;
/// Words of the README: about five minutes.
const README_WORDS: usize = 1_100;

#[test]
fn lines_of_the_pages_fit_a_review() {
    let mut long = Vec::new();
    for (path, text) in pages() {
        let code: Vec<String> = code(&text).collect();
        for (number, line) in text.lines().enumerate() {
            let is_table = line.trim_start().starts_with('|');
            // A link cannot be broken, and examples show what programs print.
            let is_link = line.contains("](") && line.split("](").all(|part| part.chars().count() <= LINE);
            if line.chars().count() > LINE && !is_table && !is_link && !code.iter().any(|shown| shown == line) {
                long.push(format!("{}:{}", path.display(), number + 1));
            }
        }
    }
    assert_eq!(long, Vec::<String>::new(), "lines of more than {LINE} characters");
}

#[test]
fn the_readme_is_read_in_one_sitting() {
    let words = fs::read_to_string(root().join("README.md")).unwrap().split_whitespace().count();
    assert!(words <= README_WORDS, "README.md has {words} words, and more than {README_WORDS} are too many");
}

#[test]
fn the_index_names_every_page() {
    let index = fs::read_to_string(root().join("docs/llms.txt")).unwrap();
    let docs = root().join("docs").canonicalize().unwrap();
    for (path, _) in pages() {
        let Ok(path) = path.canonicalize().unwrap().strip_prefix(&docs).map(|path| path.display().to_string()) else {
            continue;
        };
        let is_record = path.starts_with("design/adr/");
        let is_named = index.contains(&format!("({path})")) || path == "README.md";
        assert!(is_record || is_named, "docs/llms.txt does not name {path}");
    }
    let links = index.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
    let dead: Vec<&str> = links.filter(|link| !link.contains("://") && !docs.join(link).exists()).collect();
    assert_eq!(dead, Vec::<&str>::new(), "links of docs/llms.txt that lead nowhere");
}
