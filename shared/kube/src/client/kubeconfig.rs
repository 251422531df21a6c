//! The cluster of a command: kubeconfig and context, as in kubectl.

use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};

use super::{ConnectError, causes, configuration};

/// The kubeconfig and context.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct KubeconfigSettings {
    /// The kubeconfig file [default: what KUBECONFIG names, else ~/.kube/config, else the pod's service account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in it [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

impl KubeconfigSettings {
    /// Returns the client configuration for the chosen cluster.
    ///
    /// # Errors
    /// Fails if the file or context does not exist, or cannot be used. No request is sent.
    pub async fn configuration(&self) -> Result<kube::Config, ConnectError> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let named = match &self.kubeconfig {
            None if self.context.is_none() => return configuration().await,
            None => kube::Config::from_kubeconfig(&options).await,
            Some(file) => match Kubeconfig::read_from(file) {
                Ok(known) => kube::Config::from_custom_kubeconfig(known, &options).await,
                Err(error) => Err(error),
            },
        };
        named.map_err(|error| ConnectError::Unusable(causes(&error)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TWO: &str = "{apiVersion: v1, kind: Config, current-context: one, clusters: [{name: a, cluster: {server: 'http://one.example'}},
        {name: b, cluster: {server: 'http://other.example'}}], users: [{name: u, user: {}}], contexts: [
        {name: one, context: {cluster: a, user: u}}, {name: other, context: {cluster: b, user: u, namespace: team-a}}]}";

    async fn configured(context: Option<&str>, text: &str) -> Result<kube::Config, ConnectError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, text).unwrap();
        let settings = KubeconfigSettings { kubeconfig: Some(file), context: context.map(str::to_owned) };
        settings.configuration().await
    }

    #[tokio::test]
    async fn the_named_context_is_taken() {
        let current = configured(None, TWO).await.unwrap();
        assert_eq!(current.cluster_url.host(), Some("one.example"));
        let other = configured(Some("other"), TWO).await.unwrap();
        assert_eq!((other.cluster_url.host(), other.default_namespace.as_str()), (Some("other.example"), "team-a"));
    }

    #[tokio::test]
    async fn what_is_not_there_is_said() {
        let error = configured(Some("third"), TWO).await.unwrap_err().to_string();
        assert!(error.contains("third"), "{error}");
        let settings = KubeconfigSettings { kubeconfig: Some("/nowhere/config".into()), context: None };
        let error = settings.configuration().await.unwrap_err().to_string();
        assert!(error.contains("/nowhere/config"), "{error}");
    }
}
