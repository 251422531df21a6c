//! The structure of the sources: no cycles between files or folders, no long function, no vague name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::functions::functions;
use crate::root;
use crate::sources::{Module, ModulePath, modules};

/// The crates, by where their sources lie.
const CRATES: [&str; 8] =
    ["shared/api", "shared/language", "shared/systems", "shared/kube", "poller", "controller", "cli", "e2e"];
/// The longest function, also of tests: what can be seen at once.
const MAX_FUNCTION: usize = 60;
/// Longer functions: each is a table with a row for each case, and a few lines that process it.
const TABLES: [&str; 3] =
    ["every_listed_function_works", "the_advice_fits_the_part_of_the_answer", "messages_read_as_documented"];
/// The kinds of systems, by the enums of the language that list them.
const KINDS: [(&str, &[&str]); 2] = [
    ("Source", &["Http", "Sql", "Ldap", "Kubernetes"]),
    ("Destination", &["Http", "Sql", "Ldap", "Kubernetes", "Job", "Nudge"]),
];
/// The most files that name each kind of such an enum: the language, a program, and the commands. A further kind has to be named there.
const MAX_MATCHES: usize = 3;
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

/// The uses between the parts of each folder, where a part is a file or a folder with all that is in it.
fn uses_of_parts(modules: &BTreeMap<ModulePath, Module>) -> BTreeMap<ModulePath, BTreeMap<ModulePath, String>> {
    let mut parts: BTreeMap<ModulePath, BTreeMap<ModulePath, String>> = BTreeMap::new();
    for (path, module) in modules {
        for used in &module.uses {
            let shared = path.iter().zip(used).take_while(|(a, b)| a == b).count();
            if shared < path.len() && shared < used.len() {
                let example = format!("{} uses {}", path.join("::"), used.join("::"));
                let uses = parts.entry(path[..=shared].to_vec()).or_default();
                uses.entry(used[..=shared].to_vec()).or_insert(example);
            }
        }
    }
    parts
}

#[test]
fn no_folder_uses_one_that_uses_it() {
    let mut found = Vec::new();
    for (name, modules) in all_modules() {
        let parts = uses_of_parts(&modules);
        for (part, uses) in &parts {
            let (mut seen, mut open) = (BTreeSet::new(), uses.keys().collect::<Vec<_>>());
            while let Some(next) = open.pop() {
                if seen.insert(next) {
                    open.extend(parts.get(next).into_iter().flat_map(BTreeMap::keys));
                }
            }
            if seen.contains(part) {
                found.extend(
                    uses.iter()
                        .filter(|(used, _)| seen.contains(used))
                        .map(|(_, example)| format!("{name}: {example}")),
                );
            }
        }
    }
    assert!(found.is_empty(), "these folders use each other: {found:#?}");
}

#[test]
fn no_function_is_longer_than_a_screen() {
    let too_long = functions(&root()).into_iter().filter(|function| function.lines > MAX_FUNCTION);
    let too_long = too_long.filter(|function| !TABLES.contains(&function.name.as_str()));
    let found: Vec<String> = too_long.map(|function| function.to_string()).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_file_says_what_it_is() {
    for (name, modules) in all_modules() {
        for module in modules.values() {
            let stem = module.file.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(!VAGUE.contains(&stem.as_str()), "{name}: {}", module.file.display());
            let text = std::fs::read_to_string(&module.file).unwrap();
            assert!(text.starts_with("//! "), "{name}: {} does not say what it is", module.file.display());
        }
    }
}

#[test]
fn few_files_name_every_kind_of_system() {
    for (name, kinds) in KINDS {
        let names_each = |module: &Module| {
            let text = std::fs::read_to_string(&module.file).unwrap();
            kinds
                .iter()
                .all(|kind| text.contains(&format!("{name}::{kind}(")) || text.contains(&format!("Self::{kind}(")))
                && text.contains(name)
        };
        let naming = all_modules().flat_map(|(_, modules)| modules.into_values()).filter(names_each);
        let found: Vec<PathBuf> = naming.map(|module| module.file).collect();
        assert!((1..=MAX_MATCHES).contains(&found.len()), "{name}: {found:#?}");
    }
}
