//! The cached build: `<user's cache folder>/drift-poller/<module>/<key>/<program>`.
//!
//! The key is a hash of go.mod, go.sum and the platform, so every checkout with the same pins shares one build. A file
//! there is always complete: it is built under another name and then renamed, under a lock that other processes wait
//! for.

use std::env::consts;
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use super::{Kubernetes, Tool, build};
use crate::progress::Heartbeat;

/// Interval between attempts to lock while another process builds, which takes minutes.
const TRY_EVERY: Duration = Duration::from_millis(250);

/// Returns the path of the program and builds it if necessary.
pub(super) fn get_or_build(tool: Tool, kubernetes: Kubernetes) -> Result<PathBuf> {
    let module = tool.module(kubernetes);
    let key = key(&build::folder(module), &kubernetes.of_tool(tool).stamps()?)?;
    let folder = folder()?.join(module).join(key);
    let file = folder.join(tool.file_name());
    if file.is_file() {
        return Ok(file);
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let _lock = lock(&folder, &format!("waiting for another process that builds {}", tool.file_name()))?;
    // Another process may have built it during the wait.
    if !file.is_file() {
        let beside = folder.join(format!(".{}.partial", tool.file_name()));
        build::build(tool, kubernetes, &beside)?;
        fs::rename(&beside, &file).with_context(|| format!("renaming {}", beside.display()))?;
    }
    Ok(file)
}

/// Locks a folder, so that only one process builds in it. Closing the file releases the lock, also in a crash.
pub(crate) fn lock(folder: &Path, while_waiting: &str) -> Result<File> {
    let path = folder.join(".lock");
    let file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
    let mut heartbeat = None;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                heartbeat.get_or_insert_with(|| Heartbeat::begin(while_waiting)).beat();
                std::thread::sleep(TRY_EVERY);
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).context("locking the cached build");
            }
        }
    }
}

/// Returns the project's cache folder, `drift-poller` in the user's cache folder.
pub(crate) fn folder() -> Result<PathBuf> {
    Ok(user_cache()?.join("drift-poller"))
}

/// Returns `$XDG_CACHE_HOME`, else `~/.cache`.
pub(crate) fn user_cache() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    folder.context("neither XDG_CACHE_HOME nor HOME names a folder for the cached control plane")
}

/// Returns a hash of everything that the build depends on, as 16 hex digits.
fn key(module: &Path, stamps: &str) -> Result<String> {
    let mut hash = Sha256::new();
    for name in ["go.mod", "go.sum"] {
        let path = module.join(name);
        hash.update(fs::read(&path).with_context(|| format!("reading {}", path.display()))?);
    }
    hash.update(format!("{}/{} {}", consts::OS, consts::ARCH, stamps));
    name(hash)
}

/// Returns a hash as the name of a folder: 16 hex digits.
pub(crate) fn name(hash: Sha256) -> Result<String> {
    let mut text = String::new();
    for byte in hash.finalize().iter().take(8) {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_key_changes_with_either_file_and_with_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("go.mod", "a");
        write("go.sum", "b");
        let first = key(folder.path(), "").unwrap();
        write("README", "x");
        assert_eq!(key(folder.path(), "").unwrap(), first);
        write("go.sum", "c");
        let second = key(folder.path(), "").unwrap();
        assert_ne!(second, first);
        write("go.sum", "b");
        write("go.mod", "z");
        assert_ne!(key(folder.path(), "").unwrap(), first);
    }
}
