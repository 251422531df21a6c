//! Programs from the distribution's packages, and their running servers.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use drift_e2e::process::{Launch, Process, log_tail};
use drift_e2e::wait::{self, Seen};

/// Folders of packaged programs. A developer's PATH often lacks those for administrators.
const FOLDERS: [&str; 4] = ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];

/// Returns the path of a packaged program. If it is missing, the error says what to install.
pub(crate) fn program(name: &str, package: &str) -> Result<PathBuf> {
    let mut places = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    let found = places.find(|path| path.is_file());
    found.with_context(|| format!("there is no {name}: install the package {package} (.ci/servers installs them all)"))
}

/// Starts a server and waits until it accepts connections at this address.
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

/// Runs a tool until it succeeds. Its output goes to the log `<folder>/<name>.log`, and the error contains it.
pub(crate) async fn run(launch: Launch, folder: &Path) -> Result<()> {
    let mut process = launch.start(folder)?;
    match process.ended_within(wait::DEADLINE).await? {
        Some(exit) if exit.success() => Ok(()),
        exit => bail!("{}: {exit:?}\n{}", process.name(), log_tail(process.log(), 20)),
    }
}
