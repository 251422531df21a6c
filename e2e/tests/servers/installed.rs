//! Programs of the distribution's packages: where they are, and servers of them that answer.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use drift_e2e::process::{Launch, Process, log_tail};
use drift_e2e::wait::{self, Seen};

/// Where packages put programs; a developer's PATH often lacks those for administrators.
const FOLDERS: [&str; 4] = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

/// A program of a package.
///
/// # Errors
/// When it is not installed, with what to install.
pub(crate) fn program(name: &str, package: &str) -> Result<PathBuf> {
    let mut places = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    let found = places.find(|path| path.is_file());
    found.with_context(|| format!("there is no {name}: install the package {package} (.ci/servers installs them all)"))
}

/// Starts a server and waits until it takes connections at this address.
///
/// # Errors
/// When it ends instead, or does not in time.
pub(crate) async fn serving(launch: Launch, folder: &Path, address: &str) -> Result<Process> {
    let mut process = launch.start(folder)?;
    wait::until(format!("{} to listen on {address}", process.name()), wait::DEADLINE, async || {
        if let Some(obituary) = process.obituary()? {
            return Ok(Seen::Hopeless(obituary));
        }
        tokio::net::TcpStream::connect(address).await?;
        Ok(Seen::Met(()))
    })
    .await?;
    Ok(process)
}

/// Runs a tool to its good end; its output is the log `<folder>/<name>.log`.
///
/// # Errors
/// When it fails, with what it said.
pub(crate) async fn run(launch: Launch, folder: &Path) -> Result<()> {
    let mut process = launch.start(folder)?;
    match process.ended_within(wait::DEADLINE).await? {
        Some(exit) if exit.success() => Ok(()),
        exit => bail!("{}: {exit:?}\n{}", process.name(), log_tail(process.log(), 20)),
    }
}
