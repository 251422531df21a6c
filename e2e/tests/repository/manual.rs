//! The manual pages in docs/man match the command lines of the programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::root;

/// Set to write generated pages instead of comparing them.
pub(crate) const WRITE: &str = "DRIFT_WRITE_MANUAL";

/// A page for a program and for each of its commands, by file name.
fn pages(mut command: Command, pages: &mut BTreeMap<String, String>) {
    command = command.disable_help_subcommand(true);
    command.build();
    let source = format!("{} {}", command.get_name(), command.get_version().unwrap_or_default());
    let subcommands: Vec<Command> = command.get_subcommands().filter(|it| !it.is_hide_set()).cloned().collect();
    for one in [command].into_iter().chain(subcommands) {
        let examples = one.get_after_help().map(ToString::to_string).unwrap_or_default();
        let man = Man::new(one.after_help(None)).source(&source);
        let mut page = Vec::new();
        man.render(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap() + &as_they_stand(&examples);
        pages.insert(man.get_filename(), page);
    }
}

/// Returns examples line by line, because a paragraph would join them.
fn as_they_stand(examples: &str) -> String {
    if examples.is_empty() {
        return String::new();
    }
    let mut text = ".SH EXAMPLES\n.nf\n".to_owned();
    for line in examples.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A line with this start would be a roff request.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        text += &format!("{guard}{line}\n");
    }
    text + ".fi\n"
}

#[test]
fn the_manual_says_what_the_programs_say() {
    let mut expected = BTreeMap::new();
    pages(kubectl_drift::CommandLine::command(), &mut expected);
    pages(drift_poller::app::CommandLine::command(), &mut expected);
    pages(drift_controller::app::CommandLine::command(), &mut expected);
    let folder = root().join("docs/man");
    if std::env::var_os(WRITE).is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        expected.iter().for_each(|(name, page)| fs::write(folder.join(name), page).unwrap());
    }
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let written: BTreeMap<_, _> = files.map(|path| (name(&path), fs::read_to_string(path).unwrap())).collect();
    let names = expected.keys().chain(written.keys());
    let old: BTreeSet<_> = names.filter(|name| expected.get(*name) != written.get(*name)).collect();
    assert!(old.is_empty(), "docs/man is old, {old:?}: {WRITE}=1 cargo test --test repository manual writes it anew");
}
