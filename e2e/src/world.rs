//! One test's world: its own namespaces, its own API group, its own copies of the programs, beside all other tests
//! on one API server.
//!
//! The programs run with the shipped ServiceAccounts and RBAC (renamed), never as an administrator, so a right that
//! the manifests lack fails a test. Because the group is the world's own, the API server's audit log says exactly
//! what was written here.

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
use std::sync::{Arc, PoisonError};

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
use crate::reliability::{self, Shown};
use crate::systems::outside::Outside;
use crate::systems::toxiproxy::Toxiproxy;

/// One test's world. See the crate's documentation for a whole test.
pub struct World {
    names: Names,
    objects: String,
    folder: PathBuf,
    control_plane: PlaneHandle,
    client: Client,
    programs: Mutex<Vec<Arc<Program>>>,
    shown: std::sync::Mutex<Vec<Shown>>,
    /// What the API server noted since the world began.
    log: std::sync::Mutex<AuditTail>,
}

/// The shared control plane, or the world's own.
enum PlaneHandle {
    Shared(&'static ControlPlane),
    Own(Box<ControlPlane>),
}

impl World {
    /// Runs one behaviour in a fresh world on the shared control plane.
    ///
    /// `label` is a few words for folder and namespace names. When the behaviour fails, the error carries the end of
    /// every log of this world and says where they lie. When it succeeds, the programs that it left running are sent
    /// SIGTERM and must end with code 0, and a program that ended by itself fails the test.
    ///
    /// # Errors
    /// What the behaviour returns, and what is said above.
    pub async fn run(label: &str, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        let plane = PlaneHandle::Shared(ControlPlane::shared().await?);
        Self::begin(label, plane).await?.live(behaviour).await
    }

    /// The same for a behaviour with hundreds of objects: one such runs at a time, so that what it asks of the API server
    /// leaves enough to the worlds beside it.
    ///
    /// # Errors
    /// As [`World::run`].
    pub async fn run_crowded(label: &str, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        static ONE: Mutex<()> = Mutex::const_new(());
        let _alone = ONE.lock().await;
        Self::run(label, behaviour).await
    }

    /// The same on a control plane of its own, for behaviours that freeze or kill the API server. It costs a few
    /// seconds of two cores: not for anything else.
    ///
    /// # Errors
    /// As [`World::run`].
    pub async fn run_alone(label: &str, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        let folder = run_folder::path()?.join(format!("control-plane-{}", setup::slug(label)));
        let plane = PlaneHandle::Own(Box::new(ControlPlane::start(&folder).await?));
        Self::begin(label, plane).await?.live(behaviour).await
    }

    async fn live(self, behaviour: impl AsyncFnOnce(&Self) -> Result<()>) -> Result<()> {
        // A large future by nature: the whole test.
        let result = Box::pin(behaviour(&self)).await;
        let result = match result {
            Ok(()) => self.finish_programs().await.and_then(|()| self.keep_shown()),
            failed => failed,
        };
        let result = result.with_context(|| self.account());
        self.withdraw().await;
        result
    }

    /// The namespace that the programs run for: targets, credentials, Leases.
    #[must_use]
    pub fn programs_namespace(&self) -> &str {
        &self.names.programs
    }

    /// The namespace of the objects under test.
    #[must_use]
    pub fn objects_namespace(&self) -> &str {
        &self.objects
    }

    /// This world's own API group: the shipped CRD under another name.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.names.group
    }

    /// Where this world's logs and kubeconfigs lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A client with all rights, for what the helpers here do not cover.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The control plane that this world lives on.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        match &self.control_plane {
            PlaneHandle::Shared(plane) => plane,
            PlaneHandle::Own(plane) => plane,
        }
    }

    /// Starts the poller as the shipped Deployment does, with its ServiceAccount, and waits for its /readyz.
    ///
    /// # Errors
    /// When it does not become ready.
    pub async fn start_poller(&self) -> Result<Arc<Program>> {
        self.start(Which::Poller, Options::default()).await
    }

    /// Starts the controller in the same way.
    ///
    /// # Errors
    /// When it does not become ready.
    pub async fn start_controller(&self) -> Result<Arc<Program>> {
        self.start(Which::Controller, Options::default()).await
    }

    /// Starts a program with options: a second replica, another way to the API server, further arguments.
    ///
    /// # Errors
    /// When it cannot be started, or, unless told not to wait, does not become ready.
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

    /// Starts an external system: a toxiproxy of this world's own.
    ///
    /// # Errors
    /// When it does not answer in time.
    pub async fn start_toxiproxy(&self) -> Result<Toxiproxy> {
        self.start_toxiproxy_named("toxiproxy").await
    }

    /// A further one, whose log gets this name.
    ///
    /// # Errors
    /// When it does not answer in time.
    pub async fn start_toxiproxy_named(&self, name: &str) -> Result<Toxiproxy> {
        Toxiproxy::start(&self.control_plane().binaries().toxiproxy, &self.folder, name).await
    }

    /// Starts a server that records what it is asked and misbehaves as told.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start_outside(&self) -> Result<Outside> {
        Outside::start().await
    }

    /// A toxiproxy with such a server in front of it, which passes on whatever no rule fits.
    ///
    /// # Errors
    /// When one of them does not start.
    pub async fn start_fronted_toxiproxy(&self) -> Result<(Toxiproxy, Outside)> {
        let toxiproxy = self.start_toxiproxy().await?;
        let outside = self.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        Ok((toxiproxy, outside))
    }

    /// Starts the poller, then the controller.
    ///
    /// # Errors
    /// When one does not become ready.
    pub async fn start_both(&self) -> Result<()> {
        self.start_poller().await?;
        self.start_controller().await.map(drop)
    }

    /// Starts a gate in front of the API server, which holds back what it is told to.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start_api_gate(&self) -> Result<ApiGate> {
        ApiGate::start(&self.control_plane().administrator()).await
    }

    /// An address on loopback that nothing listens on, for a Proxy's `listen`.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn free_listen_address(&self) -> Result<String> {
        Ok(format!("127.0.0.1:{}", ports::free_port()?))
    }

    /// Hands in what this behaviour has shown; it counts once the whole behaviour has ended well.
    pub fn shows(&self, row: Shown) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }

    fn keep_shown(&self) -> Result<()> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).iter().try_for_each(reliability::keep)
    }

    /// Ends the programs that still run; each must end well.
    async fn finish_programs(&self) -> Result<()> {
        for program in self.programs.lock().await.iter() {
            program.finish().await?;
        }
        Ok(())
    }

    /// What a failing test shows: where the logs lie and how they end.
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
