//! The two programs under test: built once, started as processes of their own, watched through what they offer to
//! everybody (exit code, /readyz, /metrics, logs).

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

/// What a program's log says each time that it becomes the leader.
pub const LED: &str = "the Lease is ours";

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// drift-poller.
    Poller,
    /// drift-controller.
    Controller,
}

impl Which {
    /// The places where it can be made to die.
    #[must_use]
    pub fn kill_points(self) -> &'static [KillPoint] {
        match self {
            Self::Poller => KillPoint::POLLER,
            Self::Controller => KillPoint::CONTROLLER,
        }
    }

    /// The program's, ServiceAccount's and Lease's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Poller => "drift-poller",
            Self::Controller => "drift-controller",
        }
    }
}

/// What a start may change; the default is what the shipped Deployment does.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--instance`, also the log's name: for a second replica. Default: the program's name.
    pub instance: Option<String>,
    /// Another way to the API server, such as a fault injector's address (`https://127.0.0.1:PORT`).
    pub api_server: Option<String>,
    /// `--log-level`. Default: enough to see afterwards why something was done.
    pub log_level: Option<String>,
    /// Further arguments after `run`.
    pub arguments: Vec<String>,
    /// Further environment variables.
    pub variables: Vec<(String, String)>,
    /// Do not wait for /readyz: for a replica that stands by, or one that is meant to fail.
    pub do_not_wait: bool,
}

impl Options {
    /// A program that dies when it reaches `point` for the `time`th time; it is not waited for.
    #[must_use]
    pub fn dying_at(point: KillPoint, time: u32) -> Self {
        Self::with_kill_points(format!("{}#{time}", point.as_str()))
    }

    /// A program that logs which kill points it reaches and dies at none.
    #[must_use]
    pub fn logging_kill_points() -> Self {
        Self::with_kill_points("nowhere".to_owned())
    }

    fn with_kill_points(text: String) -> Self {
        let variables = vec![(kill_point::VARIABLE.to_owned(), text)];
        Self { variables, do_not_wait: true, ..Self::default() }
    }

    /// The same under another name of its own: its log and its Lease tell it from others.
    #[must_use]
    pub fn named(self, instance: String) -> Self {
        Self { instance: Some(instance), ..self }
    }
}

/// What the programs log in tests: enough to see afterwards why something was done.
const LOG_LEVEL: &str = "info,drift_poller=debug,drift_controller=debug,drift_kube=debug,drift_systems=debug";

/// A running program. The world that started it ends it; a test may before.
#[derive(Debug)]
pub struct Program {
    which: Which,
    instance: String,
    admin: String,
    log: PathBuf,
    process: Mutex<Process>,
    client: reqwest::Client,
    /// Set once the test itself ended the program or expects it to end: then its exit is the test's business.
    released: std::sync::atomic::AtomicBool,
}

impl Program {
    /// Starts `run` in a namespace with a kubeconfig. Does not wait.
    ///
    /// # Errors
    /// When it cannot be built or started.
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

    /// Which program it is.
    #[must_use]
    pub fn which(&self) -> Which {
        self.which
    }

    /// The `--instance` it was started with: what the Lease names as its holder.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The address of its admin pages, `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn admin_url(&self) -> String {
        format!("http://{}", self.admin)
    }

    /// The path of its log.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Its whole log: for "no secret in the logs".
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn log_text(&self) -> Result<String> {
        let bytes = std::fs::read(&self.log).with_context(|| format!("reading {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// How often it has become the leader. What it remembers begins anew with each time.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn times_led(&self) -> Result<usize> {
        Ok(self.log_text()?.matches(LED).count())
    }

    /// How often its log says that it came to this kill point.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn times_reached(&self, point: KillPoint) -> Result<usize> {
        Ok(self.log_text()?.matches(&format!("{}{}\"", kill_point::REACHED, point.as_str())).count())
    }

    /// Its process id.
    pub async fn pid(&self) -> i32 {
        self.process.lock().await.pid()
    }

    /// Waits until /readyz says 200.
    ///
    /// # Errors
    /// When it does not before the deadline, or the program ended, with the end of its log.
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

    /// The status and text of one of its admin pages, such as `/livez`.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn page(&self, path: &str) -> Result<(u16, String)> {
        let answer = self.client.get(format!("{}{path}", self.admin_url())).send().await?;
        Ok((answer.status().as_u16(), answer.text().await?))
    }

    /// Its metrics.
    ///
    /// # Errors
    /// When it does not answer with 200.
    pub async fn metrics(&self) -> Result<Metrics> {
        let (status, text) = self.page("/metrics").await?;
        ensure!(status == 200, "/metrics of {} answered {status}: {text}", self.instance);
        Ok(Metrics::parse(&text))
    }

    /// Asks it to end as a kubelet does (SIGTERM) and returns how it did.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub async fn stop(&self) -> Result<Exit> {
        self.release();
        self.process.lock().await.stop().await
    }

    /// Ends it at once (SIGKILL): a crash.
    ///
    /// # Errors
    /// When it cannot be ended.
    pub async fn kill(&self) -> Result<Exit> {
        self.release();
        self.process.lock().await.kill().await
    }

    /// Freezes it (SIGSTOP) and waits until it stands still: a stalled node, which comes back and believes that no time
    /// has passed.
    ///
    /// # Errors
    /// When it has ended.
    pub async fn pause(&self) -> Result<()> {
        self.process.lock().await.pause().await
    }

    /// Lets a frozen one go on.
    ///
    /// # Errors
    /// When it has ended.
    pub async fn resume(&self) -> Result<()> {
        self.process.lock().await.resume()
    }

    /// Waits for it to end by itself, for a start that is meant to fail, or after a lost Lease.
    ///
    /// # Errors
    /// When it still runs at the deadline.
    pub async fn wait_until_ended(&self) -> Result<Exit> {
        self.release();
        let exit = self.process.lock().await.ended_within(wait::DEADLINE).await?;
        exit.with_context(|| format!("{} still runs after {} s", self.instance, wait::DEADLINE.as_secs()))
    }

    /// How it ended, or nothing while it runs.
    ///
    /// # Errors
    /// When the system refuses to tell.
    pub async fn exit(&self) -> Result<Option<Exit>> {
        self.process.lock().await.exit()
    }

    /// Ends it for the world: it must still be running and must end with code 0, unless the test took that over.
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
