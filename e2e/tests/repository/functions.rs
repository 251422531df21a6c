//! The functions of all sources, tests too: where each is, and how long.
//!
//! Found by their text, as rustfmt lays it out: a function ends with the brace below its first letter. So those within macros
//! are found too.

use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// The folders of the workspace with sources.
const SOURCES: [&str; 5] = ["shared", "poller", "controller", "cli", "e2e"];

/// A function in a source file.
pub(crate) struct Function {
    pub(crate) file: PathBuf,
    pub(crate) name: String,
    /// Number of lines, from the first to the last.
    pub(crate) lines: usize,
}

impl fmt::Display for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {} lines", self.file.display(), self.name, self.lines)
    }
}

/// Every function below the workspace's folder.
pub(crate) fn functions(root: &Path) -> Vec<Function> {
    let mut found = Vec::new();
    for file in SOURCES.into_iter().flat_map(|folder| files(&root.join(folder))) {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (start, line) in lines.iter().enumerate() {
            let Some(name) = name(line) else { continue };
            let length = length(&lines[start..]);
            found.push(Function { file: file.clone(), name: name.to_owned(), lines: length });
        }
    }
    found
}

/// Every source file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let sources = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.chain(folders.iter().flat_map(|folder| self::files(folder))).collect()
}

/// The name of the function that begins in a line.
fn name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_declaration = before.split_whitespace().all(|word| {
        word.starts_with("pub") || ["const", "async", "unsafe", "super)", "crate)"].contains(&word) || word == "in"
    });
    let name = after.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    (is_declaration && !name.is_empty()).then_some(name)
}

/// Returns the number of lines that the function has that begins in the first.
fn length(lines: &[&str]) -> usize {
    let indent = lines[0].len() - lines[0].trim_start().len();
    let closing = format!("{}}}", &lines[0][..indent]);
    let is_one_line = lines[0].ends_with('}') || lines[0].ends_with(';');
    if is_one_line { 1 } else { lines.iter().position(|line| *line == closing).map_or(1, |end| end + 1) }
}
