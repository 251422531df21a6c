//! The controllers of Jobs and StatefulSets beside a control plane on loopback. They make Pods, which stay pending since there
//! is no node, and take what a test writes into a Pod's status for a kubelet's word.

use anyhow::Result;

use super::ControlPlane;
use crate::binaries::{self, Tool};
use crate::process::Launch;

/// Those that pages of the cookbook need, and the one of accounts: the API server takes no Pod where its account is missing.
const CONTROLLERS: &str = "--controllers=job-controller,statefulset-controller,serviceaccount-controller";

impl ControlPlane {
    /// Starts them, unless they run already. Nobody waits for them: what they are to make is waited for.
    ///
    /// # Errors
    /// When the controller manager cannot be found, built or started.
    pub async fn start_controllers(&self) -> Result<()> {
        let start = async || {
            let tool = Tool::ControllerManager;
            Launch::new(tool.file_name(), binaries::locate_for_node(tool).await?)
                .argument(format!("--kubeconfig={}", self.admin_kubeconfig().display()))
                // Nothing asks for its pages, and 0 opens no port.
                .arguments([CONTROLLERS, "--leader-elect=false", "--secure-port=0"])
                .start(&self.folder)
        };
        self.controllers.get_or_try_init(start).await.map(drop)
    }
}
