//! The API server access of one identity, as a kubeconfig file and as a client.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context, Result};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tower::{BoxError, ServiceBuilder};

use crate::http_client;

/// The API server's address, its authority, and an identity.
#[derive(Clone)]
pub struct Access {
    /// The API server's address. A test may put a fault injector in between.
    pub server: String,
    /// Certificate of the authority, PEM.
    pub authority: String,
    /// The user name in the kubeconfig.
    pub user: String,
    /// The identity's bearer token.
    pub token: String,
}

impl Access {
    /// Returns the same identity at another address, such as a fault injector's.
    #[must_use]
    pub fn through(mut self, server: impl Into<String>) -> Self {
        self.server = server.into();
        self
    }

    /// Writes the kubeconfig file, readable by its owner only.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(path).with_context(|| format!("writing {}", path.display()))?;
        Ok(file.write_all(self.document()?.to_string().as_bytes())?)
    }

    /// Returns a client with this identity, bound to the calling runtime.
    ///
    /// kube's default client reuses a connection that was idle for up to 90 s. After the same 90 s the API server closes
    /// it, so a create could fail.
    pub async fn client(&self) -> Result<Client> {
        http_client::choose_tls();
        let kubeconfig = Kubeconfig::from_yaml(&self.document()?.to_string())?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let connections = legacy::Builder::new(TokioExecutor::new())
            .pool_idle_timeout(http_client::IDLE_AT_MOST)
            .build(config.rustls_https_connector()?);
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer()?)
            .map_err(BoxError::from)
            .service(connections);
        Ok(Client::new(service, config.default_namespace))
    }

    /// Returns the kubeconfig as JSON, which is valid YAML.
    fn document(&self) -> Result<Value> {
        let authority = k8s_openapi::ByteString(self.authority.clone().into_bytes());
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": {
                "server": self.server,
                "certificate-authority-data": serde_json::to_value(authority)?,
            }}],
            "users": [{"name": self.user, "user": {"token": self.token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": self.user}}],
        }))
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("server", &self.server).field("user", &self.user).finish_non_exhaustive()
    }
}
