//! The controller manager and the scheduler with their usual rights. They run on the machine, beside the API server.

use anyhow::Result;

use crate::binaries::{self, Tool};
use crate::cluster::control_plane::ControlPlane;
use crate::process::{Launch, Process};

/// Starts both without waiting, because their results are awaited.
pub(super) async fn start(plane: &ControlPlane) -> Result<Vec<Process>> {
    let manager = launch(plane, Tool::ControllerManager)
        .await?
        .argument(format!("--service-account-private-key-file={}", plane.accounts_key_file().display()))
        .argument(format!("--root-ca-file={}", plane.authority_file().display()))
        .argument("--use-service-account-credentials=true");
    let scheduler = launch(plane, Tool::Scheduler).await?;
    [manager, scheduler].into_iter().map(|each| each.start(plane.folder())).collect()
}

async fn launch(plane: &ControlPlane, tool: Tool) -> Result<Launch> {
    let name = tool.file_name();
    let kubeconfig = plane.folder().join(format!("{name}.kubeconfig"));
    plane.component(&format!("system:{name}")).write(&kubeconfig)?;
    let launch = Launch::new(name, binaries::locate_one(tool).await?);
    // Their HTTP pages are not used, and 0 opens no port.
    Ok(launch
        .argument(format!("--kubeconfig={}", kubeconfig.display()))
        .arguments(["--leader-elect=false", "--secure-port=0"]))
}
