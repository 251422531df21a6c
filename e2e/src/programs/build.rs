//! Builds the programs with the same cargo, profile and target folder as this program.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::Which;
use crate::process::run_folder;
use crate::process::{Launch, Process, log_tail};
use crate::progress::{self, Heartbeat};
use crate::wait::ASK_EVERY;

/// Names a folder with prebuilt programs, for example from the release images. Nothing is built then.
const READY_MADE: &str = "E2E_PROGRAMS";

/// Time limit of a build: a cold release build on two busy cores.
const BUILD_WITHIN: Duration = Duration::from_secs(1800);

/// The features that this crate was built with.
const FEATURES: &str = if cfg!(feature = "long") { "drift-e2e/long" } else { "" };

/// The file name of the CLI.
const CLI: &str = "kubectl-drift";

/// The files of the programs.
#[derive(Clone, Debug)]
pub struct Built {
    poller: PathBuf,
    controller: PathBuf,
    cli: Option<PathBuf>,
}

impl Built {
    /// Returns the file of one program.
    #[must_use]
    pub fn path(&self, which: Which) -> &Path {
        match which {
            Which::Poller => &self.poller,
            Which::Controller => &self.controller,
        }
    }

    /// Returns the file of `kubectl-drift`. A folder of prebuilt programs may lack it.
    pub fn cli(&self) -> Result<&Path> {
        self.cli.as_deref().with_context(|| format!("there is no program {CLI}"))
    }
}

/// Returns the programs and builds them at the first call of this process. The error contains cargo's output.
pub async fn built() -> Result<&'static Built> {
    // A failure is cached too, because cargo would report the same to every test.
    static BUILT: OnceCell<Result<Built, String>> = OnceCell::const_new();
    let built = BUILT.get_or_init(async || build().await.map_err(|error| format!("{error:#}"))).await;
    built.as_ref().map_err(|error| anyhow::anyhow!("the programs under test are missing: {error}"))
}

async fn build() -> Result<Built> {
    if let Some(folder) = std::env::var_os(READY_MADE).map(PathBuf::from) {
        progress::say(format!("using the programs in {}", folder.display()));
        return find(|name| Some(folder.join(name)).filter(|file| file.is_file()));
    }
    let mut process = start()?;
    let mut heartbeat = Heartbeat::begin("building drift-poller, drift-controller and kubectl-drift with cargo");
    let began = Instant::now();
    let exit = loop {
        if let Some(exit) = process.ended_within(ASK_EVERY).await? {
            break exit;
        }
        if began.elapsed() > BUILD_WITHIN {
            bail!("cargo build still runs after {} s", BUILD_WITHIN.as_secs());
        }
        heartbeat.beat();
    };
    if !exit.success() {
        bail!("cargo build failed: {exit}\n{}", log_tail(process.log(), 60));
    }
    heartbeat.end();
    let text = std::fs::read_to_string(process.log())?;
    find(|name| text.lines().rev().find_map(|line| executable(line, name)))
}

fn start() -> Result<Process> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile = run_folder::profile_folder()?;
    let profile = profile.file_name().and_then(|name| name.to_str()).context("the profile folder has no name")?;
    // The folder of the profile `dev` is named `debug`.
    let profile = if profile == "debug" { "dev" } else { profile };
    Launch::new("build-programs", cargo)
        .arguments(["build", "--bins"])
        .arguments(selection(profile)?)
        .arguments(["--profile", profile, "--message-format", "json-render-diagnostics", "--target-dir"])
        .argument(run_folder::target_folder()?)
        .with_whole_environment()
        .in_folder(env!("CARGO_MANIFEST_DIR"))
        .start(run_folder::path()?)
}

/// Returns the packages to select. In a test they are those of `cargo test`, with its features and a test target:
/// cargo chooses the features of dependencies for the selection as a whole, and any other one compiles a hundred of
/// them a second time.
fn selection(profile: &str) -> Result<Vec<String>> {
    let program = std::env::current_exe().context("finding this program")?;
    let is_test = profile == "dev" && program.parent().is_some_and(|folder| folder.ends_with("deps"));
    let words: &[&str] = match is_test {
        true => &["--workspace", "--test", "repository", "--features", FEATURES],
        false => &["-p", "drift-poller", "-p", "drift-controller", "-p", CLI],
    };
    Ok(words.iter().copied().map(str::to_owned).collect())
}

fn find(locate: impl Fn(&str) -> Option<PathBuf>) -> Result<Built> {
    let one = |which: Which| locate(which.name()).with_context(|| format!("there is no program {}", which.name()));
    Ok(Built { poller: one(Which::Poller)?, controller: one(Which::Controller)?, cli: locate(CLI) })
}

/// Returns the file of the program `name` in a line of cargo's JSON messages.
fn executable(line: &str, name: &str) -> Option<PathBuf> {
    let message: Message = serde_json::from_str(line).ok()?;
    if message.target?.name == name { message.executable } else { None }
}

#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}
