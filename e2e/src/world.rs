//! The environment of one test: its own namespaces, API group and copies of the programs, beside all other tests on one
//! API server.
//!
//! The programs run with the shipped ServiceAccounts and RBAC (renamed), never as an administrator. A right that the
//! manifests lack therefore fails a test. Because the group belongs to one world, the API server's audit log shows
//! exactly the writes of this world.

mod commands;
mod condition_messages;
mod counting;
mod history;
mod many;
mod objects;
mod setup;
mod targets;
mod verdicts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use kube::Client;
use tokio::sync::Mutex;

pub use commands::Ended;
pub use condition_messages::{is_verified, message, note, tag};
pub use counting::Writes;
pub use history::{History, condition, describe, yaml};
pub use many::count_verdicts;
pub use setup::right;
pub use targets::Target;

use crate::cluster::api_gate::ApiGate;
use crate::cluster::control_plane::{AuditTail, ControlPlane};
use crate::manifests::Names;
use crate::process::log_tail;
use crate::process::ports;
use crate::process::run_folder;
use crate::programs::{Options, Program, Which};
use crate::progress;
use crate::systems::outside::Outside;
use crate::systems::toxiproxy::Toxiproxy;

/// The world of one test. The crate's documentation shows a whole test.
pub struct World {
    names: Names,
    objects: String,
    folder: PathBuf,
    control_plane: PlaneHandle,
    client: Client,
    programs: Mutex<Vec<Arc<Program>>>,
    /// The API server's audit log since the start of the world.
    log: std::sync::Mutex<AuditTail>,
}

/// The shared control plane, or the world's own.
enum PlaneHandle {
    Shared(&'static ControlPlane),
    Own(Box<ControlPlane>),
}

impl World {
    /// Runs a test in a fresh world on the shared control plane.
    ///
    /// `label` is a few words for the names of folders and namespaces. If the test succeeds, its running programs get
    /// SIGTERM and must exit with code 0. A program that ended by itself fails the test.
    ///
    /// # Errors
    /// The test's error, with the end of every log of this world and their paths.
    pub async fn run(label: &str, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        let plane = PlaneHandle::Shared(ControlPlane::shared().await?);
        Self::begin(label, plane).await?.live(behaviour).await
    }

    /// Runs a test with hundreds of objects. Only one such test runs at a time, so that enough of the API server is
    /// left for the other worlds.
    pub async fn run_crowded(label: &str, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        static ONE: Mutex<()> = Mutex::const_new(());
        let _alone = ONE.lock().await;
        Self::run(label, behaviour).await
    }

    /// Runs a test on its own control plane, to freeze or kill the API server. It costs a few seconds of two cores, so
    /// only such tests use it.
    pub async fn run_alone(label: &str, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        let folder = run_folder::path()?.join(format!("control-plane-{}", setup::slug(label)));
        let plane = PlaneHandle::Own(Box::new(ControlPlane::start_for_worlds(&folder).await?));
        Self::begin(label, plane).await?.live(behaviour).await
    }

    async fn live(self, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        // A large future, because it contains the whole test.
        let result = Box::pin(behaviour(&self)).await;
        let result = match result {
            Ok(()) => self.finish_programs().await,
            failed => failed,
        };
        let result = result.with_context(|| self.account());
        self.withdraw().await;
        result
    }

    /// Returns the namespace of the programs: their targets, credentials and Leases.
    #[must_use]
    pub fn programs_namespace(&self) -> &str {
        &self.names.programs
    }

    /// Returns the namespace of the objects under test.
    #[must_use]
    pub fn objects_namespace(&self) -> &str {
        &self.objects
    }

    /// Returns this world's API group, which has the shipped CRD under another name.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.names.group
    }

    /// Returns the folder of this world's logs and kubeconfigs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a client with all rights, for calls without a helper.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the control plane of this world.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        match &self.control_plane {
            PlaneHandle::Shared(plane) => plane,
            PlaneHandle::Own(plane) => plane,
        }
    }

    /// Starts the poller as the shipped Deployment does, with its ServiceAccount, and waits for its /readyz.
    pub async fn start_poller(&self) -> Result<Arc<Program>> {
        self.start(Which::Poller, Options::default()).await
    }

    /// Starts the controller in the same way.
    pub async fn start_controller(&self) -> Result<Arc<Program>> {
        self.start(Which::Controller, Options::default()).await
    }

    /// Starts a program with options: a second replica, another address of the API server, further arguments. Waits
    /// until it is ready unless the options say otherwise.
    pub async fn start(&self, which: Which, options: Options) -> Result<Arc<Program>> {
        let mut access = self.control_plane().service_account(self.programs_namespace(), which.name()).await?;
        if let Some(server) = &options.api_server {
            access = access.through(server);
        }
        let instance = options.instance.as_deref().unwrap_or(which.name());
        let kubeconfig = self.folder.join(format!("{instance}.kubeconfig"));
        access.write(&kubeconfig)?;
        let program = Program::start(which, self.programs_namespace(), &kubeconfig, &options).await?;
        let program = Arc::new(program);
        self.programs.lock().await.push(program.clone());
        if !options.do_not_wait {
            program.wait_until_ready().await?;
        }
        Ok(program)
    }

    /// Starts a toxiproxy as this world's external system.
    pub async fn start_toxiproxy(&self) -> Result<Toxiproxy> {
        self.start_toxiproxy_named("toxiproxy").await
    }

    /// Starts another toxiproxy, whose log gets this name.
    pub async fn start_toxiproxy_named(&self, name: &str) -> Result<Toxiproxy> {
        Toxiproxy::start(&self.control_plane().binaries().toxiproxy, &self.folder, name).await
    }

    /// Starts a server that records its requests and misbehaves on demand.
    pub async fn start_outside(&self) -> Result<Outside> {
        Outside::start().await
    }

    /// Starts a toxiproxy with such a server in front of it, which forwards requests without a rule.
    pub async fn start_fronted_toxiproxy(&self) -> Result<(Toxiproxy, Outside)> {
        let toxiproxy = self.start_toxiproxy().await?;
        let outside = self.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        Ok((toxiproxy, outside))
    }

    /// Starts the poller, then the controller.
    pub async fn start_both(&self) -> Result<()> {
        self.start_poller().await?;
        self.start_controller().await.map(drop)
    }

    /// Starts a gate in front of the API server, which can apply faults to requests.
    pub async fn start_api_gate(&self) -> Result<ApiGate> {
        ApiGate::start(&self.control_plane().administrator()).await
    }

    /// Returns an unused loopback address for a Proxy's `listen`.
    pub fn free_listen_address(&self) -> Result<String> {
        Ok(format!("127.0.0.1:{}", ports::free_port()?))
    }

    /// Ends the programs that still run. Each must exit successfully.
    async fn finish_programs(&self) -> Result<()> {
        for program in self.programs.lock().await.iter() {
            program.finish().await?;
        }
        Ok(())
    }

    /// Returns the report of a failed test: the paths and ends of its logs.
    fn account(&self) -> String {
        let mut account = format!("in the world {} (logs in {})", self.names.id, self.folder.display());
        let logs = std::fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut logs: Vec<PathBuf> = logs.filter(|path| path.extension().is_some_and(|end| end == "log")).collect();
        logs.sort();
        for log in logs {
            account.push('\n');
            account.push_str(&log_tail(&log, 25));
        }
        account
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            progress::say(self.account());
        }
    }
}
