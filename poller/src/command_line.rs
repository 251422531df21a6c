//! Command line of `drift-poller`.

use std::net::SocketAddr;

use drift_api::names::CONTROLLER_LEASE;
use drift_kube::program::settings::{CleanUpSettings, LogSettings, RunSettings, parse_lease_name};

use crate::run::page::SiteNames;

/// Examples at the end of `run --help`.
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

/// Subcommands of the program.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Poll until told to end
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunningSettings),
}

/// The settings of `run`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunningSettings {
    #[command(flatten)]
    pub(crate) run: RunSettings,
    #[command(flatten)]
    pub(crate) clean_up: CleanUpSettings,
    /// Where requests that bring hints are taken, such as 0.0.0.0:8081 [default: nowhere]
    #[arg(long)]
    pub(crate) hints_address: Option<SocketAddr>,
    /// Name of the controller's Lease, whose holds the status page shows
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_LEASE, value_parser = parse_lease_name)]
    pub(crate) controller_lease_name: String,
    /// Name of the cluster, which the status page shows [default: none]
    #[arg(long, env = "CLUSTER_NAME", value_name = "NAME")]
    pub(crate) cluster_name: Option<String>,
}

impl RunningSettings {
    /// Returns the names that the status page shows.
    pub(crate) fn site_names(&self, namespace: &str) -> SiteNames {
        SiteNames {
            cluster: self.cluster_name.clone().filter(|name| !name.is_empty()),
            namespace: namespace.to_owned(),
            controller_command: format!("kubectl get lease {} -n {namespace}", self.controller_lease_name),
        }
    }
}
