//! The controllers of Jobs, StatefulSets and aggregated roles beside a control plane on loopback. Their Pods stay pending
//! because there is no node. A test writes a Pod's status in place of a kubelet.

use anyhow::Result;

use super::ControlPlane;
use crate::binaries::{self, Tool};
use crate::process::Launch;

/// Controllers for pages of the cookbook, the one of ServiceAccounts, because the API server rejects Pods without one, and
/// the one that fills the role `view`.
const CONTROLLERS: &str = "--controllers=job-controller,statefulset-controller,serviceaccount-controller,\
                           clusterrole-aggregation-controller";

impl ControlPlane {
    /// Starts the controllers unless they run already. Does not wait: tests wait for the resulting objects.
    pub async fn start_controllers(&self) -> Result<()> {
        let start = async || {
            let tool = Tool::ControllerManager;
            Launch::new(tool.file_name(), binaries::locate_one(tool).await?)
                .argument(format!("--kubeconfig={}", self.admin_kubeconfig().display()))
                // Their HTTP pages are not used, and 0 opens no port.
                .arguments([CONTROLLERS, "--leader-elect=false", "--secure-port=0"])
                .start(&self.folder)
        };
        self.controllers.get_or_try_init(start).await.map(drop)
    }
}
