//! etcd, tuned for a life of minutes: no fsync, and its data is deleted with the process.

use std::path::Path;

use anyhow::Result;

use crate::process::ports;
use crate::process::{Launch, Process};

/// Starts etcd and returns its client address. Does not wait, because the API server waits for it.
pub(super) fn start(program: &Path, folder: &Path) -> Result<(Process, String)> {
    let data = folder.join("etcd-data");
    let client = format!("http://127.0.0.1:{}", ports::free_port()?);
    let peer = format!("http://127.0.0.1:{}", ports::free_port()?);
    let process = Launch::new("etcd", program)
        .argument("--name=only")
        .argument(format!("--data-dir={}", data.display()))
        .argument(format!("--listen-client-urls={client}"))
        .argument(format!("--advertise-client-urls={client}"))
        .argument(format!("--listen-peer-urls={peer}"))
        .argument(format!("--initial-advertise-peer-urls={peer}"))
        .argument(format!("--initial-cluster=only={peer}"))
        .arguments(["--unsafe-no-fsync=true", "--log-level=warn"])
        .with_scratch(&data)
        .start(folder)?;
    Ok((process, client))
}
