//! The sources of one crate as modules: the file of each, and the modules that it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// A module's path below its crate; empty for the root.
pub(crate) type ModulePath = Vec<String>;

/// One file of a crate, without what is compiled for tests alone.
pub(crate) struct Module {
    /// Path of the file.
    pub(crate) file: PathBuf,
    /// The modules of the same crate that it uses.
    pub(crate) uses: BTreeSet<ModulePath>,
}

/// All modules of the crate whose sources lie in `folder`.
pub(crate) fn modules(folder: &Path) -> BTreeMap<ModulePath, Module> {
    let mut parsed = BTreeMap::new();
    parse(&folder.join("lib.rs"), Vec::new(), &mut parsed);
    let known: BTreeSet<ModulePath> = parsed.keys().cloned().collect();
    let module = |(path, (file, syntax)): (ModulePath, (PathBuf, syn::File))| {
        let mut uses = Uses { module: &path, known: &known, found: BTreeSet::new() };
        uses.visit_file(&syntax);
        uses.found.remove(&path);
        let found = uses.found;
        (path, Module { file, uses: found })
    };
    parsed.into_iter().map(module).collect()
}

type Parsed = BTreeMap<ModulePath, (PathBuf, syn::File)>;

/// Parses a file and, below it, the files of its modules.
fn parse(file: &Path, path: ModulePath, parsed: &mut Parsed) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let is_folder = file.file_stem().is_some_and(|stem| stem == "mod" || stem == "lib");
    let below = if is_folder { file.parent().unwrap().to_owned() } else { file.with_extension("") };
    for item in &syntax.items {
        let syn::Item::Mod(module) = item else { continue };
        if module.content.is_some() || is_test(&module.attrs) {
            continue;
        }
        let name = module.ident.to_string();
        let candidates = [below.join(format!("{name}.rs")), below.join(&name).join("mod.rs")];
        let child = candidates.into_iter().find(|candidate| candidate.is_file()).unwrap();
        parse(&child, [path.clone(), vec![name]].concat(), parsed);
    }
    parsed.insert(path, (file.to_owned(), syntax));
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    let is_test = |attribute: &syn::Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    };
    attributes.iter().any(is_test)
}

/// Collects the modules that a file's paths lead to.
struct Uses<'a> {
    module: &'a ModulePath,
    known: &'a BTreeSet<ModulePath>,
    found: BTreeSet<ModulePath>,
}

impl Uses<'_> {
    fn note(&mut self, segments: &[String]) {
        let Some(absolute) = self.absolute(segments) else { return };
        let longest = (1..=absolute.len()).rev().find_map(|length| self.known.get(&absolute[..length]));
        // A file and the folder of its name are one idea in parts: a part may name what the whole offers.
        self.found.extend(longest.filter(|found| !self.module.starts_with(found)).cloned());
    }

    /// The path below the crate; `None` for what another crate or a local name leads to.
    fn absolute(&self, segments: &[String]) -> Option<ModulePath> {
        let first = segments.first()?;
        let (mut base, rest) = match first.as_str() {
            "crate" => (Vec::new(), &segments[1..]),
            "self" => (self.module.clone(), &segments[1..]),
            "super" => {
                let ups = segments.iter().take_while(|segment| *segment == "super").count();
                (self.module[..self.module.len().checked_sub(ups)?].to_vec(), &segments[ups..])
            }
            _ => {
                let child = [self.module.clone(), vec![first.clone()]].concat();
                self.known.contains(&child).then_some((self.module.clone(), segments))?
            }
        };
        base.extend_from_slice(rest);
        Some(base)
    }

    fn note_tree(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.note_tree(&path.tree, prefix);
                prefix.pop();
            }
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.note_tree(item, prefix)),
            syn::UseTree::Name(name) => self.note(&[prefix.clone(), vec![name.ident.to_string()]].concat()),
            syn::UseTree::Rename(rename) => self.note(&[prefix.clone(), vec![rename.ident.to_string()]].concat()),
            syn::UseTree::Glob(_) => self.note(prefix),
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            self.note_tree(&item.tree, &mut Vec::new());
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1 {
            self.note(&segments);
        }
        visit::visit_path(self, path);
    }
}
