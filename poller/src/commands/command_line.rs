//! The command line: every subcommand with its settings, and what its help says.
//!
//! It must not know how any of them is done.

use std::net::SocketAddr;

use drift_kube::program::settings::{CleanUpSettings, LogSettings, RunSettings};

use crate::commands::check::CheckSettings;
use crate::commands::completions::CompletionsSettings;
use crate::commands::explain::ExplainSettings;
use crate::commands::get::GetSettings;
use crate::commands::rbac::RbacSettings;
use crate::commands::request::{PAUSE_EXAMPLES, POLL_EXAMPLES, RESUME_EXAMPLES, RETRY_EXAMPLES, RequestSettings};
use crate::commands::schema::EXAMPLES as SCHEMA_EXAMPLES;
use crate::commands::suspend::{SUSPEND_EXAMPLES, SuspendSettings, UNSUSPEND_EXAMPLES};

/// Shown at the end of `--help` of `run`.
const RUN_EXAMPLES: &str = "Example, beside a cluster and not in it:
  drift-poller run --namespace drift-system --admin-address 127.0.0.1:8080";

/// Keeps the driftObserved condition of Kubernetes objects true to the external systems behind them.
#[derive(Debug, clap::Parser)]
#[command(version, about)]
pub struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) logs: LogSettings,
}

/// What the program is to do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Poll until told to end
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunningSettings),
    /// Check target documents: what is wrong, where, and what to write instead; no cluster is needed
    Check(CheckSettings),
    /// Poll one object now and say what was asked, what differs, and whether a correction would follow or what holds it
    Explain(ExplainSettings),
    /// List the objects of all targets and what stands on them: drift, since when, in which fields, corrected or not
    Get(GetSettings),
    /// Pause objects: nothing is created, updated or deleted for them outside, and polling goes on
    #[command(after_help = PAUSE_EXAMPLES)]
    Pause(RequestSettings),
    /// Let objects that were paused be corrected again
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(RequestSettings),
    /// Ask for a poll of objects at once
    #[command(after_help = POLL_EXAMPLES)]
    Poll(RequestSettings),
    /// Ask for one more correction of objects whose attempts are exhausted
    #[command(after_help = RETRY_EXAMPLES)]
    Retry(RequestSettings),
    /// Suspend a target: no polls and no corrections of its objects, by spec.suspend in its ConfigMap
    #[command(after_help = SUSPEND_EXAMPLES)]
    Suspend(SuspendSettings),
    /// Put a suspended target to work again
    #[command(after_help = UNSUSPEND_EXAMPLES)]
    Unsuspend(SuspendSettings),
    /// Print the roles that targets need, for both programs and with not one verb more
    Rbac(RbacSettings),
    /// Print the JSON Schema of target documents, by which an editor completes and checks them
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Print what makes a shell complete these commands
    Completions(CompletionsSettings),
}

/// How it polls until told to end.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunningSettings {
    #[command(flatten)]
    pub(crate) run: RunSettings,
    #[command(flatten)]
    pub(crate) clean_up: CleanUpSettings,
    /// Where requests that bring hints are taken, such as 0.0.0.0:8081 [default: nowhere]
    #[arg(long)]
    pub(crate) hints_address: Option<SocketAddr>,
    /// Judge every answer, though the same one was judged before
    #[arg(long, hide = true)]
    pub(crate) judge_every_answer: bool,
}
