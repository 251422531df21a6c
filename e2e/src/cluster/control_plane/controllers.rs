//! The controllers of Jobs, StatefulSets and aggregated roles beside a control plane on loopback. Their Pods stay pending
//! because there is no node. A test writes a Pod's status in place of a kubelet.

use anyhow::Result;

use super::ControlPlane;
use crate::binaries::{self, Tool};
use crate::process::Launch;

/// Controllers for pages of the cookbook, and the one of ServiceAccounts, because the API server rejects Pods without one.
pub const OF_WORKLOADS: &str = "job-controller,statefulset-controller,serviceaccount-controller";
/// The controller that fills roles such as `view`. It leaves the Jobs of other tests beside it alone.
pub const OF_ROLES: &str = "clusterrole-aggregation-controller";

impl ControlPlane {
    /// Starts these controllers unless some run already: all tests of a control plane name the same. Does not wait: tests
    /// wait for the resulting objects.
    pub async fn start_controllers(&self, names: &str) -> Result<()> {
        let start = async || {
            let tool = Tool::ControllerManager;
            Launch::new(tool.file_name(), binaries::locate_one(tool).await?)
                .argument(format!("--kubeconfig={}", self.admin_kubeconfig().display()))
                // Their HTTP pages are not used, and 0 opens no port.
                .arguments([&format!("--controllers={names}"), "--leader-elect=false", "--secure-port=0"])
                .start(&self.folder)
        };
        self.controllers.get_or_try_init(start).await.map(drop)
    }
}
