//! Runs the real kubectl, for the commands of users and for rendering the shipped kustomization.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::process::Launch;

/// Deadline of a call. A call waits for nothing but the API server.
const CALL_WITHIN: Duration = Duration::from_secs(60);

/// Output of a successful call.
#[derive(Clone, Debug)]
pub struct Printed {
    /// Its standard output.
    pub output: String,
    /// Its standard error, which contains the API server's warnings.
    pub complaints: String,
}

/// A kubectl with one kubeconfig.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    /// Returns kubectl as the identity in `kubeconfig`. Its discovery cache is in `folder`.
    pub fn new(program: impl Into<PathBuf>, kubeconfig: impl Into<PathBuf>, folder: &Path) -> Self {
        Self { program: program.into(), kubeconfig: kubeconfig.into(), cache: folder.join("kubectl-cache") }
    }

    /// Returns another program, such as Helm, as the same identity.
    #[must_use]
    pub fn with_program(self, program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), ..self }
    }

    /// Runs kubectl and returns its output.
    ///
    /// # Errors
    /// The error contains kubectl's output.
    pub async fn run(&self, arguments: &[&str]) -> Result<Printed> {
        self.run_with_input(arguments, "").await
    }

    /// Runs kubectl with a text on standard input (`-f -`).
    ///
    /// # Errors
    /// The error contains kubectl's output.
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> Result<Printed> {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig).env("KUBECACHEDIR", &self.cache);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let said = format!("{name} {}", arguments.join(" "));
        let mut child = command.spawn().with_context(|| format!("starting {}", self.program.display()))?;
        let mut stdin = child.stdin.take().context("kubectl has no standard input")?;
        let feed = async move {
            // kubectl may end without reading. Its exit code is more useful than the broken pipe.
            let _ = stdin.write_all(input.as_bytes()).await;
        };
        let both = async { tokio::join!(feed, child.wait_with_output()).1 };
        let output = tokio::time::timeout(CALL_WITHIN, both).await;
        let output = output.with_context(|| format!("{said}: no end within {} s", CALL_WITHIN.as_secs()))??;
        let printed = Printed {
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            complaints: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        if !output.status.success() {
            bail!("{said}: {}\n{}{}", output.status, printed.complaints, printed.output);
        }
        Ok(printed)
    }

    /// Returns a launch of a long-running kubectl, such as a watch. Its output goes to its log.
    #[must_use]
    pub fn launch(&self, name: &str, arguments: &[&str]) -> Launch {
        let launch = Launch::new(name, &self.program).arguments(arguments);
        launch.variable("KUBECONFIG", &self.kubeconfig).variable("KUBECACHEDIR", &self.cache)
    }
}
