//! A real control plane: etcd and kube-apiserver, with RBAC and ServiceAccount tokens as in any cluster. It listens on
//! loopback or on an address that a node reaches ([`Site`]). Without a scheduler and kubelet it runs no Pods.
//!
//! All tests of a test binary share one ([`ControlPlane::shared`]). A test that freezes or restarts the API server
//! starts its own ([`ControlPlane::start_for_worlds`]).

mod api_server;
mod audit;
mod certificates;
pub mod controllers;
mod etcd;
mod kubeconfig;
mod site;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::{Mutex, OnceCell};

pub use audit::{AuditRecord, AuditTail};
use certificates::Keys;
pub use kubeconfig::Access;
pub use site::Site;

use crate::binaries::{self, Binaries};
use crate::cluster::kubectl::Kubectl;
use crate::manifests;
use crate::process::run_folder;
use crate::process::{Exit, Process};
use crate::wait::{self, Seen};
use crate::{http_client, progress};

/// The API server's deadline to answer /readyz. It needs 3 s alone, and many times that on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Lifetime of a ServiceAccount token: longer than any run, including one that is kept open for a day.
const TOKEN_SECONDS: i64 = 24 * 3600;

/// The administrator's token. It guards a loopback server that lives for minutes.
const ADMIN_TOKEN: &str = "administrator-of-a-throwaway-cluster";

/// A running control plane. Dropping it ends its processes.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    url: String,
    authority: String,
    binaries: Binaries,
    api_server: Mutex<Process>,
    etcd: Mutex<Process>,
    /// Started on request only.
    controllers: OnceCell<Process>,
    command: api_server::Settings,
}

impl ControlPlane {
    /// Returns the instance that all tests of this process share and starts it at the first call. It is never dropped:
    /// the watchdogs end it with the process.
    pub async fn shared() -> Result<&'static Self> {
        // A failure is cached too. Otherwise each of the other tests would wait for the same deadline.
        static SHARED: OnceCell<Result<ControlPlane, String>> = OnceCell::const_new();
        let start = async || {
            let folder = run_folder::path()?.join("control-plane");
            Self::start_for_worlds(&folder).await
        };
        let shared = SHARED.get_or_init(async || start().await.map_err(|error| format!("{error:#}"))).await;
        shared.as_ref().map_err(|error| anyhow::anyhow!("the shared control plane did not start: {error}"))
    }

    /// Starts a control plane with the objects that all worlds share.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_for_worlds(folder: &Path) -> Result<Self> {
        let plane = Self::start(folder).await?;
        let items = manifests::shared_by_worlds(&plane.binaries.kubectl)?;
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        // By kubectl's own apply, because tests apply the shipped manifests in that way too.
        plane.kubectl().run_with_input(&["apply", "-f", "-"], &list.to_string()).await?;
        Ok(plane)
    }

    /// Starts a control plane on loopback that stores its keys, logs and kubeconfigs in `folder`.
    ///
    /// # Errors
    /// If a program does not become ready, the error contains the last observation.
    pub async fn start(folder: &Path) -> Result<Self> {
        Self::start_at(folder, Site::Loopback).await
    }

    /// Starts a control plane that listens at `site`.
    pub async fn start_at(folder: &Path, site: Site) -> Result<Self> {
        http_client::choose_tls();
        let binaries = binaries::locate().await?;
        progress::say("starting etcd and kube-apiserver");
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let keys = Keys::generate(folder, site)?;
        let (etcd, etcd_url) = etcd::start(&binaries.etcd, folder)?;
        let port = site.port()?;
        let command = api_server::Settings { etcd_url, site, port, folder: folder.to_path_buf() };
        let api_server = command.start(&binaries.api_server)?;
        let plane = Self {
            folder: folder.to_path_buf(),
            url: format!("https://{}:{port}", site.address()),
            authority: keys.authority,
            binaries,
            api_server: Mutex::new(api_server),
            etcd: Mutex::new(etcd),
            controllers: OnceCell::new(),
            command,
        };
        plane.wait_until_ready().await?;
        plane.administrator().write(&plane.admin_kubeconfig())?;
        Ok(plane)
    }

    /// Returns the API server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the folder with its logs and keys.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the programs that it was started from.
    #[must_use]
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// Returns the path of the administrator's kubeconfig.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// Returns the administrator's access.
    #[must_use]
    pub fn administrator(&self) -> Access {
        self.access("administrator", ADMIN_TOKEN)
    }

    /// Returns the access of a component of a cluster with nodes, such as `system:kube-scheduler`. Its rights are the
    /// built-in roles of the API server. Only at [`Site::ForNodes`].
    #[must_use]
    pub fn component(&self, user: &str) -> Access {
        self.access(user, &site::token(user))
    }

    /// Returns the path of the authority's certificate.
    #[must_use]
    pub fn authority_file(&self) -> PathBuf {
        self.folder.join(certificates::AUTHORITY)
    }

    /// Returns the path of the key that signs ServiceAccount tokens.
    #[must_use]
    pub fn accounts_key_file(&self) -> PathBuf {
        self.folder.join(certificates::ACCOUNTS_KEY)
    }

    /// Returns a client with all rights, bound to the calling test's runtime.
    pub async fn admin_client(&self) -> Result<Client> {
        self.administrator().client().await
    }

    /// Returns kubectl as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        Kubectl::new(&self.binaries.kubectl, self.admin_kubeconfig(), &self.folder)
    }

    /// Returns the access of a ServiceAccount, with a token from the TokenRequest API, as a Pod gets it.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Access> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin_client().await?, namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let answer = accounts.create_token_request(name, &PostParams::default(), &request).await;
        let answer = answer.with_context(|| format!("asking for a token of {namespace}/{name}"))?;
        let token = answer.status.context("the TokenRequest came back without a token")?.token;
        Ok(self.access(name, &token))
    }

    /// Returns the audit records of writes (all verbs but get, list and watch) whose line contains `needle`, in the
    /// order of their responses.
    pub fn audit(&self, needle: &str) -> Result<Vec<AuditRecord>> {
        AuditTail::whole(&self.folder, vec![needle.to_owned()]).read()
    }

    /// Returns a tail of the audit log from now on, with the lines that contain one of `needles`. Cheap to read often.
    pub fn audit_from_now(&self, needles: Vec<String>) -> Result<AuditTail> {
        AuditTail::from_now(&self.folder, needles)
    }

    /// Returns the process ids of etcd and of the API server, for measurements of their resources.
    pub async fn processes(&self) -> [i32; 2] {
        [self.etcd.lock().await.pid(), self.api_server.lock().await.pid()]
    }

    /// Kills the API server. Its data stays.
    pub async fn kill_api_server(&self) -> Result<Exit> {
        self.api_server.lock().await.kill().await
    }

    /// Starts the API server again on the same port and data, and waits until it is ready.
    pub async fn start_api_server_again(&self) -> Result<()> {
        *self.api_server.lock().await = self.command.start(&self.binaries.api_server)?;
        self.wait_until_ready().await
    }

    /// Terminates both processes gracefully.
    pub async fn stop(self) -> Result<()> {
        self.api_server.into_inner().stop().await?;
        self.etcd.into_inner().stop().await?;
        Ok(())
    }

    fn access(&self, user: &str, token: &str) -> Access {
        Access {
            server: self.url.clone(),
            authority: self.authority.clone(),
            user: user.to_owned(),
            token: token.to_owned(),
        }
    }

    async fn wait_until_ready(&self) -> Result<()> {
        let client = self.admin_client().await?;
        let what = format!("{}/readyz to answer ok (logs in {})", self.url, self.folder.display());
        wait::until(what, READY_WITHIN, async || {
            for process in [&self.etcd, &self.api_server] {
                if let Some(obituary) = process.lock().await.obituary()? {
                    return Ok(Seen::Hopeless(obituary));
                }
            }
            let request = http::Request::get("/readyz").body(Vec::new())?;
            let answer = tokio::time::timeout(Duration::from_secs(5), client.request_text(request)).await;
            Ok(match answer {
                Ok(Ok(text)) if text.trim() == "ok" => Seen::Met(()),
                Ok(Ok(text)) => Seen::Instead(text),
                Ok(Err(error)) => Seen::Instead(error.to_string()),
                Err(_) => Seen::Instead("no answer within 5 s".to_owned()),
            })
        })
        .await
    }
}
