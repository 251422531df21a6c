//! The two programs under test: built once, started as separate processes, and observed through their exit code,
//! /readyz, /metrics and logs.

mod build;
pub mod clock_shift;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use drift_kube::process::kill_point;
use drift_kube::process::kill_point::KillPoint;
use tokio::sync::Mutex;

pub use build::{Built, built};

use crate::http_client;
use crate::metrics::Metrics;
use crate::process::ports;
use crate::process::{Exit, Launch, Process, log_tail};
use crate::wait::{self, Seen};

/// The log message of a program that becomes the leader.
pub const LED: &str = "the Lease is ours";

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The program drift-poller.
    Poller,
    /// The program drift-controller.
    Controller,
}

impl Which {
    /// Returns the kill points of this program.
    #[must_use]
    pub fn kill_points(self) -> &'static [KillPoint] {
        match self {
            Self::Poller => KillPoint::POLLER,
            Self::Controller => KillPoint::CONTROLLER,
        }
    }

    /// Returns the name of the program, its ServiceAccount and its Lease.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Poller => "drift-poller",
            Self::Controller => "drift-controller",
        }
    }
}

/// Options of a start. The default matches the shipped Deployment.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--instance`, also the log's name, for a second replica. Default: the program's name.
    pub instance: Option<String>,
    /// Another address of the API server, such as a fault injector's (`https://127.0.0.1:PORT`).
    pub api_server: Option<String>,
    /// `--log-level`. The default logs the reasons of actions.
    pub log_level: Option<String>,
    /// Further arguments after `run`.
    pub arguments: Vec<String>,
    /// Further environment variables.
    pub variables: Vec<(String, String)>,
    /// Do not wait for /readyz: for a standby replica, or one that must fail.
    pub do_not_wait: bool,
}

impl Options {
    /// Returns options for a program that dies when it reaches `point` for the `time`th time. The start does not wait.
    #[must_use]
    pub fn dying_at(point: KillPoint, time: u32) -> Self {
        Self::with_kill_points(format!("{}#{time}", point.as_str()))
    }

    /// Returns options for a program that logs its kill points and dies at none.
    #[must_use]
    pub fn logging_kill_points() -> Self {
        Self::with_kill_points("nowhere".to_owned())
    }

    fn with_kill_points(text: String) -> Self {
        let variables = vec![(kill_point::VARIABLE.to_owned(), text)];
        Self { variables, do_not_wait: true, ..Self::default() }
    }

    /// Sets another instance name, which distinguishes its log and its Lease.
    #[must_use]
    pub fn named(self, instance: String) -> Self {
        Self { instance: Some(instance), ..self }
    }
}

/// The log level of the programs in tests, which shows the reasons of actions.
const LOG_LEVEL: &str = "info,drift_poller=debug,drift_controller=debug,drift_kube=debug,drift_systems=debug";

/// A running program. Its world ends it, unless the test does so before.
#[derive(Debug)]
pub struct Program {
    which: Which,
    instance: String,
    admin: String,
    log: PathBuf,
    process: Mutex<Process>,
    client: reqwest::Client,
    /// Set if the test ended the program or expects it to end. The test then checks its exit.
    released: std::sync::atomic::AtomicBool,
}

impl Program {
    /// Starts `run` in a namespace with a kubeconfig. Does not wait.
    pub async fn start(which: Which, namespace: &str, kubeconfig: &Path, options: &Options) -> Result<Self> {
        let built = built().await?;
        let instance = options.instance.clone().unwrap_or_else(|| which.name().to_owned());
        let admin = format!("127.0.0.1:{}", ports::free_port()?);
        let folder = kubeconfig.parent().context("the kubeconfig lies nowhere")?;
        let mut launch = Launch::new(&instance, built.path(which))
            .arguments(["run", "--namespace", namespace, "--admin-address", &admin, "--instance", &instance])
            .arguments(["--log-level", options.log_level.as_deref().unwrap_or(LOG_LEVEL)])
            .arguments(&options.arguments)
            .variable("KUBECONFIG", kubeconfig);
        for (name, value) in &options.variables {
            launch = launch.variable(name, value);
        }
        let process = launch.start(folder)?;
        let log = process.log().to_path_buf();
        let client = http_client::new()?;
        let released = std::sync::atomic::AtomicBool::new(false);
        Ok(Self { which, instance, admin, log, process: Mutex::new(process), client, released })
    }

    /// Returns which of the two programs this is.
    #[must_use]
    pub fn which(&self) -> Which {
        self.which
    }

    /// Returns its `--instance`, the holder in its Lease.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// Returns the address of its admin pages, `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn admin_url(&self) -> String {
        format!("http://{}", self.admin)
    }

    /// Returns the path of its log.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Returns its whole log, for example to check it for secrets.
    pub fn log_text(&self) -> Result<String> {
        let bytes = std::fs::read(&self.log).with_context(|| format!("reading {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns how many times it became the leader. Its memory is reset each time.
    pub fn times_led(&self) -> Result<usize> {
        Ok(self.log_text()?.matches(LED).count())
    }

    /// Returns how many times its log reports this kill point.
    pub fn times_reached(&self, point: KillPoint) -> Result<usize> {
        Ok(self.log_text()?.matches(&format!("{}{}\"", kill_point::REACHED, point.as_str())).count())
    }

    /// Returns its process id.
    pub async fn pid(&self) -> i32 {
        self.process.lock().await.pid()
    }

    /// Waits until /readyz returns 200. The error contains the end of its log.
    pub async fn wait_until_ready(&self) -> Result<()> {
        let waiting = wait::until(format!("/readyz of {} to answer 200", self.instance), wait::DEADLINE, async || {
            if let Some(exit) = self.exit().await? {
                return Ok(Seen::Hopeless(format!("it ended by itself: {exit}")));
            }
            let (status, text) = self.page("/readyz").await?;
            Ok(if status == 200 { Seen::Met(()) } else { Seen::Instead(format!("{status} {text}")) })
        });
        waiting.await.with_context(|| log_tail(&self.log, 40))
    }

    /// Returns the status and text of an admin page, such as `/livez`.
    pub async fn page(&self, path: &str) -> Result<(u16, String)> {
        let answer = self.client.get(format!("{}{path}", self.admin_url())).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// Scrapes its metrics.
    pub async fn metrics(&self) -> Result<Metrics> {
        let (status, text) = self.page("/metrics").await?;
        ensure!(status == 200, "/metrics of {} answered {status}: {text}", self.instance);
        Ok(Metrics::parse(&text))
    }

    /// Sends SIGTERM, as a kubelet does, and returns its exit.
    pub async fn stop(&self) -> Result<Exit> {
        self.release();
        self.process.lock().await.stop().await
    }

    /// Sends SIGKILL, like a crash.
    pub async fn kill(&self) -> Result<Exit> {
        self.release();
        self.process.lock().await.kill().await
    }

    /// Pauses it with SIGSTOP and waits until it has stopped. It simulates a stalled node that later continues and does
    /// not notice the lost time.
    pub async fn pause(&self) -> Result<()> {
        self.process.lock().await.pause().await
    }

    /// Resumes a paused program.
    pub async fn resume(&self) -> Result<()> {
        self.process.lock().await.resume()
    }

    /// Waits until it ends by itself, after a start that must fail or a lost Lease.
    pub async fn wait_until_ended(&self) -> Result<Exit> {
        self.release();
        let exit = self.process.lock().await.ended_within(wait::DEADLINE).await?;
        exit.with_context(|| format!("{} still runs after {} s", self.instance, wait::DEADLINE.as_secs()))
    }

    /// Returns its exit, or `None` while it runs.
    pub async fn exit(&self) -> Result<Option<Exit>> {
        self.process.lock().await.exit()
    }

    /// Ends it for the world. It must still run and exit with code 0, unless the test ended it itself.
    pub(crate) async fn finish(&self) -> Result<()> {
        if self.released.load(std::sync::atomic::Ordering::Relaxed) {
            self.process.lock().await.kill().await?;
            return Ok(());
        }
        let mut process = self.process.lock().await;
        process.ensure_running()?;
        let exit = process.stop().await?;
        ensure!(exit.success(), "{} ended with {exit} on SIGTERM\n{}", self.instance, log_tail(&self.log, 40));
        Ok(())
    }

    fn release(&self) {
        self.released.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
