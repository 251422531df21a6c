//! The structure that reviews hold to, counted: no file uses one that uses it, and no file is too long to be one idea.

use std::collections::{BTreeMap, BTreeSet};

use crate::root;
use crate::sources::{Module, ModulePath, modules};

/// The crates, by where their sources lie.
const CRATES: [&str; 7] =
    ["shared/model", "shared/target", "shared/outside", "shared/cluster", "poller", "controller", "e2e"];
/// The longest file, without its tests: what can be read in one go.
const MAX_LINES: usize = 300;
/// Names that say nothing of what a file is about.
const VAGUE: [&str; 6] = ["util", "utils", "common", "helpers", "manager", "misc"];

fn all_modules() -> impl Iterator<Item = (&'static str, BTreeMap<ModulePath, Module>)> {
    CRATES.into_iter().map(|name| (name, modules(&root().join(name).join("src"))))
}

/// Everything that can be reached from `start` by at least one use.
fn reached(modules: &BTreeMap<ModulePath, Module>, start: &ModulePath) -> BTreeSet<ModulePath> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&ModulePath> = modules[start].uses.iter().collect();
    while let Some(path) = open.pop() {
        if found.insert(path.clone()) {
            open.extend(&modules[path].uses);
        }
    }
    found
}

#[test]
fn no_file_uses_one_that_uses_it() {
    let mut found = Vec::new();
    for (name, modules) in all_modules() {
        let in_a_circle = modules.keys().filter(|path| reached(&modules, path).contains(*path));
        found.extend(in_a_circle.map(|path| format!("{name}: {}", path.join("::"))));
    }
    assert!(found.is_empty(), "these files use each other: {found:#?}");
}

#[test]
fn no_file_is_longer_than_one_idea() {
    let modules = all_modules().flat_map(|(_, modules)| modules.into_values());
    let too_long = modules.filter(|module| module.lines > MAX_LINES);
    let found: Vec<String> = too_long.map(|module| format!("{}: {}", module.file.display(), module.lines)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_file_has_a_telling_name_and_says_what_it_is() {
    for (name, modules) in all_modules() {
        for module in modules.values() {
            let stem = module.file.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(!VAGUE.contains(&stem.as_str()), "{name}: {}", module.file.display());
            let text = std::fs::read_to_string(&module.file).unwrap();
            assert!(text.starts_with("//! "), "{name}: {} does not say what it is", module.file.display());
        }
    }
}
