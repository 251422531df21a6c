//! The inputs of image builds in the workspace.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

/// Path of the workspace, which contains the Dockerfiles.
pub(super) const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns the files that a Dockerfile's build reads: those that `.dockerignore` allows, and the Dockerfile itself.
pub(super) fn read_by(dockerfile: &str) -> Result<Vec<String>> {
    let let_in = fs::read_to_string(Path::new(WORKSPACE).join(".dockerignore"))?;
    let names = let_in.lines().filter_map(|line| line.strip_prefix('!')).chain([dockerfile]);
    Ok(names.map(str::to_owned).collect())
}

/// Adds a file, or a folder with its contents, in a stable order.
pub(super) fn add(hash: &mut Sha256, path: &Path) -> Result<()> {
    if path.is_dir() {
        let entries = fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.sort();
        return paths.iter().try_for_each(|path| add(hash, path));
    }
    hash.update(path.strip_prefix(WORKSPACE).unwrap_or(path).as_os_str().as_encoded_bytes());
    hash.update(fs::read(path).with_context(|| format!("reading {}", path.display()))?);
    Ok(())
}

/// Returns a path as text for command lines.
pub(super) fn path(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is no UTF-8", path.display()))
}
