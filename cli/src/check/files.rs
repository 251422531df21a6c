//! The texts that a command line names: files, folders, standard input.

use std::fs;
use std::io::{Read as _, stdin};
use std::path::{Path, PathBuf};

use drift_language::{BrokenYaml, broken_manifests, find_documents, manifests_of};

use crate::check::document::{Remark, Severity, Source};
use crate::ending::CommandError;

/// The name of standard input on a command line, and in messages.
const STANDARD_INPUT: (&str, &str) = ("-", "stdin");
/// Said of what holds none.
const NO_TARGET: &str = "no target document here; one has apiVersion: driftpoller.dev/v1alpha1 and kind: PollTarget, by itself or in \
                         a ConfigMap";
/// The kind of the manifest that defines a kind.
const DEFINITION: &str = "CustomResourceDefinition";
/// The extensions of the files that are read from a folder.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Reads all of them, as [`read_with_neighbours`], and tells each path that neither holds a target document nor defines a
/// kind, or that cannot be read as YAML.
///
/// # Errors
/// When one cannot be read, or none holds a target document.
pub(crate) fn read_sources<'p>(
    paths: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<(Vec<Source>, Vec<Remark>), CommandError> {
    let (mut remarks, mut all) = (Vec::new(), Vec::new());
    for path in paths {
        let read = read_path(path)?;
        let is_used = read.iter().any(|source| holds_target(source) || defines_kind(&source.text));
        let broken: Vec<_> = read.iter().filter(|source| !is_used || source.text.contains(DEFINITION)).collect();
        let broken: Vec<_> = broken.into_iter().flat_map(broken_yaml).collect();
        if broken.is_empty() && !is_used {
            remarks.push(Remark::of_source(&path.display().to_string(), NO_TARGET));
        }
        remarks.extend(broken);
        all.push((path, read));
    }
    Ok((gather(all)?, remarks))
}

/// Reads all of them. One has to hold a target document; others may define its kind.
///
/// # Errors
/// When one cannot be read, or none holds any.
pub(crate) fn read_with_neighbours<'p>(
    paths: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<Vec<Source>, CommandError> {
    gather(paths.into_iter().map(|path| Ok((path, read_path(path)?))).collect::<Result<_, CommandError>>()?)
}

/// Reads all of them, whatever they hold.
///
/// # Errors
/// When one cannot be read.
pub(crate) fn read_all<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Result<Vec<Source>, CommandError> {
    let mut sources = Vec::new();
    for path in paths {
        add_new(&mut sources, read_path(path)?);
    }
    Ok(sources)
}

/// Returns true if it means standard input, which can be read once.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT.0
}

/// Each source once, if one of them holds a target document.
fn gather(read: Vec<(&PathBuf, Vec<Source>)>) -> Result<Vec<Source>, CommandError> {
    let names: Vec<_> = read.iter().map(|(path, _)| path.display().to_string()).collect();
    let mut sources = Vec::new();
    read.into_iter().for_each(|(_, read)| add_new(&mut sources, read));
    if sources.iter().any(holds_target) {
        Ok(sources)
    } else {
        Err(CommandError::BadUsage(format!("{}: {NO_TARGET}", names.join(", "))))
    }
}

/// The YAML documents of a source that cannot be read.
fn broken_yaml(source: &Source) -> Vec<Remark> {
    let remark = |BrokenYaml { place, mistake }: BrokenYaml| Remark {
        severity: Severity::Warning,
        source: source.name.clone(),
        place: Some(place),
        line: source.text.lines().nth(place.0.saturating_sub(1)).unwrap_or_default().to_owned(),
        message: format!("this YAML document is skipped: {mistake}"),
        missing: None,
    };
    broken_manifests(&source.text).into_iter().map(remark).collect()
}

/// Refuses YAML documents that cannot be read. One of them may be the object that is asked for.
///
/// # Errors
/// The first one, with its place.
pub(crate) fn refuse_broken(sources: &[Source]) -> Result<(), CommandError> {
    for source in sources {
        if let Some(BrokenYaml { place: (line, column), mistake }) = broken_manifests(&source.text).into_iter().next() {
            let message = format!("{}:{line}:{column}: this YAML document cannot be read: {mistake}", source.name);
            return Err(CommandError::BadUsage(message));
        }
    }
    Ok(())
}

fn defines_kind(text: &str) -> bool {
    manifests_of(text).iter().any(|manifest| manifest["kind"] == DEFINITION)
}

fn holds_target(source: &Source) -> bool {
    !find_documents(&source.text).is_empty()
}

/// A file that is named beside its folder is read once.
fn add_new(sources: &mut Vec<Source>, read: Vec<Source>) {
    let is_new = |new: &Source| !sources.iter().any(|known| place(&known.name) == place(&new.name));
    let new: Vec<_> = read.into_iter().filter(is_new).collect();
    sources.extend(new);
}

/// Reads a file, the files of a folder, or standard input.
///
/// # Errors
/// If one cannot be read.
pub(crate) fn read_path(path: &Path) -> Result<Vec<Source>, CommandError> {
    let unreadable = |error: std::io::Error| CommandError::BadUsage(format!("{}: {error}", path.display()));
    if is_standard_input(path) {
        let mut text = String::new();
        stdin().read_to_string(&mut text).map_err(unreadable)?;
        return Ok(vec![Source { name: STANDARD_INPUT.1.to_owned(), text }]);
    }
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        let text = fs::read_to_string(path).map_err(unreadable)?;
        return Ok(vec![Source { name: path.display().to_string(), text }]);
    }
    let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(unreadable)?;
    let mut below: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(|path| is_read(path)).collect();
    below.sort();
    let sources = below.iter().map(|path| read_path(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(sources.into_iter().flatten().collect())
}

/// The file itself, however its path is written.
fn place(name: &str) -> PathBuf {
    fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name))
}

/// Returns true if what lies in a folder is read. A folder that another place links to is read there.
fn is_read(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let ends_so = path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    !is_hidden && (ends_so || (path.is_dir() && !path.is_symlink()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn broken_yaml_of_a_kind_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let target = path("t.yaml", "kind: PollTarget\n");
        let crd = path("crd.yaml", "a: 1\n---\nkind: CustomResourceDefinition\nspec: [\n");
        let neither = path("n.yaml", "kind: Role\n");
        let (_, remarks) = read_sources([&target, &crd, &neither]).unwrap_or_else(|_| panic!("one holds a target"));
        let told: Vec<_> = remarks.iter().map(|remark| (remark.place.map(|place| place.0), &*remark.message)).collect();
        assert!(matches!(&*told, [(Some(4 | 5), _), (None, NO_TARGET)]), "{told:?}");
        assert!(told[0].1.starts_with("this YAML document is skipped: "), "{told:?}");
    }

    #[test]
    fn a_definition_is_known_however_it_is_written() {
        for (text, expected) in [
            ("kind: CustomResourceDefinition\n", true),
            ("a: 1\n---\n\"kind\":   'CustomResourceDefinition'\n", true),
            ("{\"kind\": \"CustomResourceDefinition\", \"spec\": {}}", true),
            ("kind: List\nitems: [{kind: CustomResourceDefinition}]\n", true),
            ("# kind: CustomResourceDefinition\nkind: Role\n", false),
            ("- a\n", false),
            ("", false),
        ] {
            assert_eq!(defines_kind(text), expected, "{text}");
        }
    }
}
