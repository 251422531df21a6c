//! One child process: started, watched, stopped, and never left behind.
//!
//! A child runs under a small `sh` watchdog whose standard input is a pipe held by this process. However this
//! process ends, even by `kill -9`, the pipe closes and the watchdog kills the child; no code of ours has to run.
//! (Asking the kernel for a parent-death signal would need unsafe code, and it follows the thread, not the process.)
//!
//! It knows nothing of what it runs.

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

/// The time that a child may take to end after SIGTERM before it is killed: ten seconds are promised, a busy machine may stand
/// still for some more, and the shipped Deployments grant 30 s.
pub const STOP_WITHIN: Duration = Duration::from_secs(25);

/// The same when a guard is dropped, which happens in failing tests: nobody waits for niceties there.
const DROP_WITHIN: Duration = Duration::from_secs(2);

/// The time that the threads of a child may take to stand still after SIGSTOP: microseconds, but for one that waits for a
/// disk of a busy machine.
const PAUSED_WITHIN: Duration = Duration::from_secs(10);

/// How often a child that ends or is paused is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It returned this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl Exit {
    /// Returns true if it returned 0.
    #[must_use]
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }

    /// A shell reports 128 plus the signal's number for a program that a signal ended.
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
    /// Held, never written: closing it is what tells the watchdog that we are gone.
    _lifeline: Option<ChildStdin>,
    exit: Option<Exit>,
}

impl Process {
    /// Takes over a watchdog that was just spawned and reads the program's process id from it.
    fn adopt(name: String, log: PathBuf, mut watchdog: Child) -> Result<Self> {
        let lifeline = watchdog.stdin.take();
        let output = watchdog.stdout.take().context("the watchdog's output is not a pipe")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let number = line.trim().parse().with_context(|| format!("the watchdog of {name} said {line:?}"))?;
        let pid = Pid::from_raw(number).with_context(|| format!("{number} is no process id"))?;
        Ok(Self { name, log, pid, watchdog, _lifeline: lifeline, exit: None })
    }

    /// The name given at the launch.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program's process id (not the watchdog's).
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Where its standard output and standard error go.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How it ended, or nothing while it runs.
    ///
    /// # Errors
    /// When the system refuses to tell.
    pub fn exit(&mut self) -> Result<Option<Exit>> {
        if self.exit.is_none()
            && let Some(status) = self.watchdog.try_wait()?
        {
            let code = status.code().with_context(|| format!("the watchdog of {} was killed", self.name))?;
            self.exit = Some(Exit::from_shell(code));
        }
        Ok(self.exit)
    }

    /// Fails, with the end of its log, if the child has ended.
    ///
    /// # Errors
    /// When it has ended.
    pub fn ensure_running(&mut self) -> Result<()> {
        self.obituary()?.map_or(Ok(()), |obituary| bail!(obituary))
    }

    /// How it ended and the end of its log, or nothing while it runs.
    ///
    /// # Errors
    /// When the system refuses to tell.
    pub fn obituary(&mut self) -> Result<Option<String>> {
        let exit = self.exit()?;
        Ok(exit.map(|exit| format!("{} ended by itself: {exit}\n{}", self.name, log_tail(&self.log, 30))))
    }

    /// Sends SIGSTOP and waits until every thread stands still: the process keeps its connections and does nothing, like
    /// one on a frozen machine. The kernel only promises to stop it soon; a thread on another core goes on for a while.
    ///
    /// # Errors
    /// When it has ended, or a thread still runs at the deadline.
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
    ///
    /// # Errors
    /// When it has ended.
    pub fn resume(&mut self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Asks it to end (SIGTERM), and kills it when it has not after [`STOP_WITHIN`].
    ///
    /// # Errors
    /// When the system refuses to tell how it ended.
    pub async fn stop(&mut self) -> Result<Exit> {
        self.ask_to_end()?;
        if let Some(exit) = self.ended_within(STOP_WITHIN).await? {
            return Ok(exit);
        }
        self.kill().await
    }

    /// Ends it at once (SIGKILL), as a crash or a lost node would.
    ///
    /// # Errors
    /// When the system refuses to tell how it ended.
    pub async fn kill(&mut self) -> Result<Exit> {
        if self.exit()?.is_none() {
            self.signal(Signal::KILL)?;
        }
        let exit = self.ended_within(STOP_WITHIN).await?;
        exit.with_context(|| format!("{} (process {}) survived SIGKILL", self.name, self.pid()))
    }

    /// Waits for it to end by itself; nothing if it still runs at the deadline.
    ///
    /// # Errors
    /// When the system refuses to tell how it ended.
    pub async fn ended_within(&mut self, deadline: Duration) -> Result<Option<Exit>> {
        let began = Instant::now();
        while self.exit()?.is_none() && began.elapsed() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(self.exit)
    }

    fn ask_to_end(&mut self) -> Result<()> {
        if self.exit()?.is_none() {
            // A stopped process would keep the SIGTERM waiting.
            self.signal(Signal::TERM)?;
            self.signal(Signal::CONT)?;
        }
        Ok(())
    }

    fn signal(&mut self, signal: Signal) -> Result<()> {
        match kill_process(self.pid, signal) {
            // It ended between our look and the signal: nothing left to do for the signals that end it.
            Err(rustix::io::Errno::SRCH) if signal != Signal::STOP => Ok(()),
            other => other.with_context(|| format!("sending {signal:?} to {}", self.name)),
        }
    }

    /// For a place that cannot wait asynchronously: the drop of the guard.
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

/// The state of one thread of this process that does not stand still, as the kernel names it; nothing if all do.
fn thread_that_runs(pid: i32) -> Result<Option<String>> {
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("process {pid} has ended"))? {
        // A thread may end between the listing and the look.
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

/// The last lines of a log, ready to be put into an error.
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
