//! Runs the commands of `kubectl-drift` with the administrator's kubeconfig.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::process::Command;

use super::World;
use crate::binaries;
use crate::process::{Launch, Process};
use crate::programs::built;

/// Deadline of a command. It waits at most for an external system's timeout and a few calls of the API server.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// Result of a command.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The exit code.
    pub code: i32,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub complaints: String,
}

impl World {
    /// Runs a command to its end.
    pub async fn run_command(&self, arguments: &[&str]) -> Result<Ended> {
        let mut command = Command::new(built().await?.cli()?);
        command.args(arguments).env("KUBECONFIG", self.control_plane().admin_kubeconfig());
        end(command).await
    }

    /// Starts a long-running command. Its output goes to its log.
    pub async fn start_command(&self, name: &str, arguments: &[&str]) -> Result<Process> {
        let launch = Launch::new(name, built().await?.cli()?).arguments(arguments);
        launch.variable("KUBECONFIG", self.control_plane().admin_kubeconfig()).start(self.folder())
    }

    /// Runs kubectl to its end, with its plugin `drift` on PATH. Its only kubeconfig is the one in the arguments.
    pub async fn run_kubectl_drift(&self, arguments: &[&str]) -> Result<Ended> {
        self.run_kubectl(&[&["drift"], arguments].concat()).await
    }

    /// Asks kubectl for candidates of the last word behind `kubectl drift`.
    ///
    /// # Errors
    /// When it cannot be run, or does not end.
    pub async fn complete_kubectl_drift(&self, words: &[&str]) -> Result<Ended> {
        self.run_kubectl(&[&["__complete", "drift"], words].concat()).await
    }

    async fn run_kubectl(&self, arguments: &[&str]) -> Result<Ended> {
        let plugins = self.folder().join("plugins");
        for name in ["kubectl-drift", "kubectl_complete-drift"] {
            let plugin = plugins.join(name);
            if !plugin.is_symlink() {
                std::fs::create_dir_all(&plugins)?;
                std::os::unix::fs::symlink(built().await?.cli()?, &plugin)?;
            }
        }
        let mut command = Command::new(binaries::locate().await?.kubectl);
        command.args(arguments).env("PATH", &plugins).env_remove("KUBECONFIG").env("HOME", self.folder());
        end(command).await
    }
}

async fn end(mut command: Command) -> Result<Ended> {
    let said = format!("{:?}", command.as_std());
    let ended = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let ended = tokio::time::timeout(ENDS_WITHIN, ended).await;
    let ended = ended.with_context(|| format!("{said} does not end"))??;
    Ok(Ended {
        code: ended.status.code().context("it was ended by a signal")?,
        output: String::from_utf8_lossy(&ended.stdout).into_owned(),
        complaints: String::from_utf8_lossy(&ended.stderr).into_owned(),
    })
}
