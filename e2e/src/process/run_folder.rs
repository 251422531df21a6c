//! The folder with the logs, keys and kubeconfigs of one run of the suite or the demo.
//!
//! Its path is `<target folder>/e2e/<time>-<pid>`. It outlives the run, so that a failure can be examined. A new run
//! removes all but the newest few.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

use crate::process;

/// Number of finished runs to keep. Each takes a few megabytes.
const KEPT: usize = 8;

/// Returns this process's run folder and creates it at the first call.
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

/// Returns the profile folder in cargo's target folder, derived from the path of this program.
pub fn profile_folder() -> Result<PathBuf> {
    let program = std::env::current_exe().context("finding the running program")?;
    let folder = program.parent().context("the running program has no folder")?;
    let folder = if folder.ends_with("deps") { folder.parent().context("deps has no parent")? } else { folder };
    Ok(folder.to_path_buf())
}

/// Returns cargo's target folder, derived from the path of this program.
pub fn target_folder() -> Result<PathBuf> {
    let profile = profile_folder()?;
    Ok(profile.parent().context("the profile folder has no parent")?.to_path_buf())
}

/// Removes all but the newest runs and those with a live process. Errors are ignored.
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
