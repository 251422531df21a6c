//! Parameters of a child process: its command line, environment, log and scratch folder.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Process, log_tail};
use crate::progress::Heartbeat;

/// Environment variables that a child inherits. All others (KUBECONFIG, proxies, cloud credentials) are dropped, so
/// that a developer's shell cannot change the result of a test.
const PASSED_ON: [&str; 6] = ["PATH", "HOME", "TMPDIR", "RUST_LOG", "RUST_BACKTRACE", "LLVM_PROFILE_FILE"];

/// Interval between checks of a child that takes minutes.
const LOOK_AT_BUILD_EVERY: Duration = Duration::from_millis(100);

const WATCHDOG: &str = include_str!("watchdog.sh");

/// A child that is ready to start.
#[derive(Clone, Debug)]
pub struct Launch {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    whole_environment: bool,
    folder: Option<PathBuf>,
    scratch: Option<PathBuf>,
}

/// Returns true for variables that cargo sets for the program it runs. A nested cargo that inherits them reruns the
/// build scripts that depend on them, and rebuilds half of the tree.
fn is_of_this_program(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"]
        .iter()
        .any(|of| name.starts_with(of))
}

impl Launch {
    /// Creates a launch. `name` appears in messages and in the log's file name.
    pub fn new(name: impl Into<String>, program: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            whole_environment: false,
            folder: None,
            scratch: None,
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn arguments<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets one environment variable.
    #[must_use]
    pub fn variable(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Passes the whole environment on. Used for build tools, which belong to the user.
    #[must_use]
    pub fn with_whole_environment(mut self) -> Self {
        self.whole_environment = true;
        self
    }

    /// Runs it in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets a folder that the watchdog removes after the child's end, even if this process ends first.
    #[must_use]
    pub fn with_scratch(mut self, folder: impl Into<PathBuf>) -> Self {
        self.scratch = Some(folder.into());
        self
    }

    /// Starts it and appends its output to `<folder>/<name>.log`.
    ///
    /// # Errors
    /// The log cannot be written, or no shell can be started. A missing program appears as an exit with code 127.
    pub fn start(self, log_folder: &Path) -> Result<Process> {
        std::fs::create_dir_all(log_folder)?;
        let log = log_folder.join(format!("{}.log", self.name));
        let complaints = OpenOptions::new().create(true).append(true).open(&log);
        let complaints = complaints.with_context(|| format!("opening {}", log.display()))?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(WATCHDOG).arg("watchdog").arg(&log).arg(self.scratch.unwrap_or_default());
        command.arg(&self.program).args(&self.arguments);
        if self.whole_environment {
            let ours = std::env::vars_os().map(|(name, _)| name).filter(|name| is_of_this_program(name));
            ours.for_each(|name| _ = command.env_remove(name));
        } else {
            command.env_clear();
            command.envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        command.envs(self.environment);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        // A separate process group: Ctrl-C reaches only this process, which then ends the children gracefully.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(complaints);
        let watchdog = command.spawn().with_context(|| format!("starting sh for {}", self.name))?;
        Process::adopt(self.name, log, watchdog)
    }

    /// Starts it and waits until it succeeds. Reports `what` while it runs. The error contains the end of its log.
    pub fn run_speaking(self, what: &str, log_folder: &Path) -> Result<()> {
        let mut heartbeat = Heartbeat::begin(what);
        let mut process = self.start(log_folder)?;
        let exit = loop {
            if let Some(exit) = process.exit()? {
                break exit;
            }
            heartbeat.beat();
            std::thread::sleep(LOOK_AT_BUILD_EVERY);
        };
        if !exit.success() {
            bail!("{what} failed: {exit}\n{}", log_tail(process.log(), 40));
        }
        heartbeat.end();
        Ok(())
    }
}
