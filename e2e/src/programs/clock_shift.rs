//! Starts a process with a wrong wall clock: libfaketime, loaded before the program's own C library.
//!
//! Search order: `E2E_LIBFAKETIME` (the library's file), the folders of distributions, the user's cache folder, then
//! the distribution's package, unpacked into that folder without installing it. Only wall time is shifted, because a
//! machine with a wrong clock still measures durations correctly.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};

use crate::binaries;

/// Names the file of the library.
const VARIABLE: &str = "E2E_LIBFAKETIME";

/// The library for multi-threaded programs.
const LIBRARY: &str = "libfaketimeMT.so.1";

/// The package of Debian and Ubuntu.
const PACKAGE: &str = "libfaketime";

/// Folders of the library in distributions: Debian and Ubuntu, Fedora, Arch and Alpine.
const FOLDERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime",
    "/usr/lib/aarch64-linux-gnu/faketime",
    "/usr/lib64/faketime",
    "/usr/lib/faketime",
];

/// Returns the environment of a process whose wall clock is off by `shift`, such as `+1h` or `-1h`.
///
/// # Errors
/// If the library is missing and cannot be fetched, the error says what to do.
pub async fn variables(shift: &str) -> Result<Vec<(String, String)>> {
    let library = tokio::task::spawn_blocking(locate).await??;
    let library = library.to_str().context("the library's path is no text")?.to_owned();
    let variables = [("LD_PRELOAD", library.as_str()), ("FAKETIME", shift), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
    Ok(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
}

fn locate() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        ensure!(named.is_file(), "{VARIABLE} names {}, which is no file", named.display());
        return Ok(named);
    }
    let cached = binaries::user_cache()?.join("drift-poller").join(PACKAGE);
    let installed = FOLDERS.iter().map(|folder| Path::new(folder).join(LIBRARY)).find(|file| file.is_file());
    match installed.or_else(|| find(&cached)) {
        Some(found) => Ok(found),
        None => fetch(&cached).with_context(|| {
            format!("no {LIBRARY} here to shift a clock with: install {PACKAGE}, or name the file in {VARIABLE}")
        }),
    }
}

/// Unpacks the distribution's package under another name and renames it, so that the folder is always complete.
fn fetch(folder: &Path) -> Result<PathBuf> {
    let parent = folder.parent().context("the cache folder has no parent")?;
    fs::create_dir_all(parent)?;
    let beside = parent.join(format!(".{PACKAGE}-{}", std::process::id()));
    fs::create_dir_all(&beside)?;
    let fetched = unpack(&beside).and_then(|()| {
        // If another process was faster, its folder is equally good.
        _ = fs::rename(&beside, folder);
        find(folder).with_context(|| format!("the package has no {LIBRARY}"))
    });
    _ = fs::remove_dir_all(&beside);
    fetched
}

fn unpack(folder: &Path) -> Result<()> {
    run(Command::new("apt-get").args(["download", PACKAGE]).current_dir(folder))?;
    let package = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let package = package.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb"));
    let package = package.context("apt-get downloaded no package")?;
    run(Command::new("dpkg-deb").arg("-x").arg(package).arg(folder))
}

fn run(command: &mut Command) -> Result<()> {
    let Output { status, stderr, .. } = command.output().with_context(|| format!("starting {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}: {}", String::from_utf8_lossy(&stderr));
    }
    Ok(())
}

/// Finds the library below a folder.
fn find(folder: &Path) -> Option<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    let here = entries.iter().find(|path| path.file_name().is_some_and(|name| name == LIBRARY));
    here.cloned().or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path)))
}
