//! Where one run of the suite or the demo keeps its logs, keys and kubeconfigs.
//!
//! `<target folder>/e2e/<time>-<pid>`: it outlives the run, so that a failure can be read afterwards. The newest
//! few are kept and older ones removed when a new run begins.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

use crate::process;

/// How many finished runs stay readable; each is a few megabytes.
const KEPT: usize = 8;

/// This process's run folder, made at the first call.
///
/// # Errors
/// When the target folder cannot be found or written.
pub fn path() -> Result<&'static Path> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    if let Some(folder) = FOLDER.get() {
        return Ok(folder);
    }
    let runs = target_folder()?.join("e2e");
    let name = format!("{}-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"), std::process::id());
    let folder = runs.join(name);
    fs::create_dir_all(&folder).with_context(|| format!("making the run folder {}", folder.display()))?;
    forget_old(&runs);
    Ok(FOLDER.get_or_init(|| folder))
}

/// Cargo's target folder and the profile folder in it, found from where this program itself lies.
///
/// # Errors
/// When this program does not lie in a target folder.
pub fn profile_folder() -> Result<PathBuf> {
    let program = std::env::current_exe().context("finding the running program")?;
    let folder = program.parent().context("the running program has no folder")?;
    let folder = if folder.ends_with("deps") { folder.parent().context("deps has no parent")? } else { folder };
    Ok(folder.to_path_buf())
}

/// Cargo's target folder.
///
/// # Errors
/// When this program does not lie in a target folder.
pub fn target_folder() -> Result<PathBuf> {
    let profile = profile_folder()?;
    Ok(profile.parent().context("the profile folder has no parent")?.to_path_buf())
}

/// Removes all but the newest runs, sparing those whose process lives. Failing to is not worth a failed run.
fn forget_old(runs: &Path) {
    let Ok(entries) = fs::read_dir(runs) else {
        return;
    };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    let surplus = folders.len().saturating_sub(KEPT);
    for folder in folders.into_iter().take(surplus) {
        let pid = folder.file_name().and_then(|name| name.to_str()?.rsplit_once('-')?.1.parse().ok());
        if !pid.is_some_and(process::is_alive) {
            let _ = fs::remove_dir_all(folder);
        }
    }
}
