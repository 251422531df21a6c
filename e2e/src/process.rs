//! A child process that never outlives this process.
//!
//! A child runs under a small `sh` watchdog whose standard input is a pipe from this process. If this process ends,
//! even by `kill -9`, the pipe closes and the watchdog kills the child. (A parent-death signal would need unsafe code,
//! and it follows the thread, not the process.)

mod launch;
pub mod ports;
pub mod run_folder;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

pub use launch::Launch;

/// Time that a child has to end after SIGTERM before it is killed. The programs promise ten seconds. A busy machine may
/// pause for some more, and the shipped Deployments grant 30 s.
pub const STOP_WITHIN: Duration = Duration::from_secs(25);

/// The same limit when a guard is dropped, which happens in failing tests and must be quick.
const DROP_WITHIN: Duration = Duration::from_secs(2);

/// Time that a child's threads have to stop after SIGSTOP: microseconds, unless a thread waits for a busy disk.
const PAUSED_WITHIN: Duration = Duration::from_secs(10);

/// Interval between checks of a child that ends or is paused.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Result of an ended child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The exit code of the child.
    Code(i32),
    /// The signal that ended the child.
    Signal(i32),
}

impl Exit {
    /// Returns true if the exit code is 0.
    #[must_use]
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    /// Converts the exit code of a shell, which reports 128 plus the signal's number for a killed program.
    fn from_shell(code: i32) -> Self {
        if code > 128 { Self::Signal(code - 128) } else { Self::Code(code) }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
        }
    }
}

/// A running child. Dropping it ends the child.
#[derive(Debug)]
pub struct Process {
    name: String,
    log: PathBuf,
    pid: Pid,
    watchdog: Child,
    /// Held but never written. When it closes, the watchdog knows that this process has ended.
    _lifeline: Option<ChildStdin>,
    exit: Option<Exit>,
}

impl Process {
    /// Takes over a new watchdog and reads the program's process id from it.
    fn adopt(name: String, log: PathBuf, mut watchdog: Child) -> Result<Self> {
        let lifeline = watchdog.stdin.take();
        let output = watchdog.stdout.take().context("the watchdog's output is not a pipe")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let number = line.trim().parse().with_context(|| format!("the watchdog of {name} said {line:?}"))?;
        let pid = Pid::from_raw(number).with_context(|| format!("{number} is no process id"))?;
        Ok(Self { name, log, pid, watchdog, _lifeline: lifeline, exit: None })
    }

    /// Returns the name of the launch.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the process id of the program, not of the watchdog.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Returns the path of its standard output and standard error.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Returns its exit, or `None` while it runs.
    pub fn exit(&mut self) -> Result<Option<Exit>> {
        if self.exit.is_none()
            && let Some(status) = self.watchdog.try_wait()?
        {
            let code = status.code().with_context(|| format!("the watchdog of {} was killed", self.name))?;
            self.exit = Some(Exit::from_shell(code));
        }
        Ok(self.exit)
    }

    /// Fails if the child has ended. The error contains the end of its log.
    pub fn ensure_running(&mut self) -> Result<()> {
        self.obituary()?.map_or(Ok(()), |obituary| bail!(obituary))
    }

    /// Returns its exit and the end of its log, or `None` while it runs.
    pub fn obituary(&mut self) -> Result<Option<String>> {
        let exit = self.exit()?;
        Ok(exit.map(|exit| format!("{} ended by itself: {exit}\n{}", self.name, log_tail(&self.log, 30))))
    }

    /// Sends SIGSTOP and waits until every thread has stopped. The process keeps its connections and does nothing, like
    /// one on a frozen machine. The kernel stops it only soon: a thread on another core runs on for a moment.
    ///
    /// # Errors
    /// It has ended, or a thread still runs at the deadline.
    pub async fn pause(&mut self) -> Result<()> {
        self.signal(Signal::STOP)?;
        let began = Instant::now();
        while let Some(running) = thread_that_runs(self.pid())? {
            if began.elapsed() > PAUSED_WITHIN {
                bail!("{} still runs after SIGSTOP: {running}", self.name);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Sends SIGCONT, after [`Process::pause`].
    pub fn resume(&mut self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Sends SIGTERM, and SIGKILL after [`STOP_WITHIN`].
    pub async fn stop(&mut self) -> Result<Exit> {
        self.ask_to_end()?;
        if let Some(exit) = self.ended_within(STOP_WITHIN).await? {
            return Ok(exit);
        }
        self.kill().await
    }

    /// Sends SIGKILL, like a crash or a lost node.
    pub async fn kill(&mut self) -> Result<Exit> {
        if self.exit()?.is_none() {
            self.signal(Signal::KILL)?;
        }
        let exit = self.ended_within(STOP_WITHIN).await?;
        exit.with_context(|| format!("{} (process {}) survived SIGKILL", self.name, self.pid()))
    }

    /// Waits until it ends by itself. Returns `None` if it still runs at the deadline.
    pub async fn ended_within(&mut self, deadline: Duration) -> Result<Option<Exit>> {
        let began = Instant::now();
        while self.exit()?.is_none() && began.elapsed() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(self.exit)
    }

    fn ask_to_end(&mut self) -> Result<()> {
        if self.exit()?.is_none() {
            // SIGTERM stays pending in a stopped process.
            self.signal(Signal::TERM)?;
            self.signal(Signal::CONT)?;
        }
        Ok(())
    }

    fn signal(&mut self, signal: Signal) -> Result<()> {
        match kill_process(self.pid, signal) {
            // It ended between the check and the signal. The signals that end a process need nothing more.
            Err(rustix::io::Errno::SRCH) if signal != Signal::STOP => Ok(()),
            other => other.with_context(|| format!("sending {signal:?} to {}", self.name)),
        }
    }

    /// A blocking variant for the drop of the guard.
    fn end_blocking(&mut self) -> Result<()> {
        self.ask_to_end()?;
        let began = Instant::now();
        while self.exit()?.is_none() {
            if began.elapsed() > DROP_WITHIN {
                self.signal(Signal::KILL)?;
                self.watchdog.wait()?;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.end_blocking() {
            crate::progress::say(format!("ending {}: {error:#}", self.name));
        }
    }
}

/// Returns the kernel's state of one running thread, or `None` if all have stopped.
fn thread_that_runs(pid: i32) -> Result<Option<String>> {
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("process {pid} has ended"))? {
        // A thread may end after the listing.
        let Ok(status) = std::fs::read_to_string(thread?.path().join("status")) else { continue };
        let state = status.lines().find_map(|line| line.strip_prefix("State:")).unwrap_or_default().trim();
        if !state.starts_with('T') {
            return Ok(Some(state.to_owned()));
        }
    }
    Ok(None)
}

/// Returns true if a process with this id exists.
#[must_use]
pub fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Returns the last lines of a log for an error message.
#[must_use]
pub fn log_tail(log: &Path, lines: usize) -> String {
    let text = match std::fs::read(log) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return format!("({}: {error})", log.display()),
    };
    let all: Vec<&str> = text.lines().collect();
    let first = all.len().saturating_sub(lines);
    let shown = all.get(first..).unwrap_or_default().join("\n");
    format!("--- {} (last {} of {} lines)\n{shown}", log.display(), all.len() - first, all.len())
}
