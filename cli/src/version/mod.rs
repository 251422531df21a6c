//! `kubectl drift version`: the version of this program, and the images of the two programs in the cluster.

use std::io::Write as _;

use drift_api::names::{CONTROLLER_MANAGER, POLLER_MANAGER};
use drift_api::printable::printable;
use drift_kube::client::KubeconfigSettings;
use k8s_openapi::api::apps::v1::Deployment;
use kube::core::Resource as _;
use serde_json::Value;

use crate::cluster::{HomeSettings, block_on, connect, get, unanswered};
use crate::ending::{CommandError, ExitStatus};

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift version
  kubectl drift version --client      without asking a cluster

The versions of the programs are the images of the Deployments drift-poller and drift-controller.
Exit codes: 0 printed, 2 the cluster does not answer, 3 bad usage";

/// The versions to print.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct VersionSettings {
    /// Only the version of this program
    #[arg(long)]
    client: bool,
    #[command(flatten)]
    home: HomeSettings,
    #[command(flatten)]
    cluster: KubeconfigSettings,
}

/// Prints the versions, that of this program first: it needs no cluster.
///
/// # Errors
/// If there is no cluster, or it does not answer.
pub(crate) fn run(settings: &VersionSettings) -> Result<ExitStatus, CommandError> {
    writeln!(anstream::stdout(), "kubectl-drift {}", env!("CARGO_PKG_VERSION"))?;
    if settings.client {
        return Ok(ExitStatus::Success);
    }
    block_on(async {
        let client = connect(&settings.cluster).await?;
        let path = Deployment::url_path(&(), Some(&settings.home.targets_namespace));
        for name in [POLLER_MANAGER, CONTROLLER_MANAGER] {
            let found =
                get(&client, &path, name).await.map_err(|error| unanswered(&format!("Deployment {name}"), &error))?;
            writeln!(anstream::stdout(), "{}", line(name, &settings.home.targets_namespace, found.as_ref()))?;
        }
        Ok(ExitStatus::Success)
    })
}

fn line(name: &str, namespace: &str, deployment: Option<&Value>) -> String {
    let containers = deployment.and_then(|found| found.pointer("/spec/template/spec/containers")?.as_array());
    let of_program = |containers: &Vec<Value>| {
        let named = containers.iter().find(|container| container["name"] == name).or(containers.first())?;
        named["image"].as_str().map(printable)
    };
    match containers.and_then(of_program) {
        Some(image) => format!("{name} {image}"),
        None => format!("{name}: no Deployment {name} in namespace {namespace}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_image_of_a_program_is_its_version() {
        let deployment = |containers: Value| json!({"spec": {"template": {"spec": {"containers": containers}}}});
        let (own, proxy) =
            (json!({"name": "drift-poller", "image": "r/p:1.2"}), json!({"name": "a", "image": "r/a:1"}));
        for (found, expected) in [
            (Some(deployment(json!([proxy, own]))), "drift-poller r/p:1.2"),
            (Some(deployment(json!([proxy]))), "drift-poller r/a:1"),
            (Some(json!({})), "drift-poller: no Deployment drift-poller in namespace n"),
            (None, "drift-poller: no Deployment drift-poller in namespace n"),
        ] {
            assert_eq!(line("drift-poller", "n", found.as_ref()), expected);
        }
    }
}
