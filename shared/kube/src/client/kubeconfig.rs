//! The cluster of a command: kubeconfig and context, as in kubectl.

use std::path::PathBuf;
use std::time::Duration;

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
    /// The user to act as, which needs the verb impersonate
    #[arg(long = "as", value_name = "USER")]
    pub impersonated_user: Option<String>,
    /// A group to act as, beside --as. May be given several times
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonated_user")]
    pub impersonated_groups: Vec<String>,
    /// Time that the API server may be silent during a request, such as 5s. Zero or a longer time leaves the usual limits: 10s,
    /// and 60s for a page of a list
    #[arg(long, value_name = "DURATION", value_parser = parse_timeout)]
    pub request_timeout: Option<Duration>,
}

/// Reads a duration, or a number of seconds as in kubectl.
fn parse_timeout(text: &str) -> Result<Duration, humantime::DurationError> {
    text.parse().map(Duration::from_secs).or_else(|_| humantime::parse_duration(text))
}

impl KubeconfigSettings {
    /// Returns the client configuration for the chosen cluster.
    ///
    /// # Errors
    /// Fails if the file or context does not exist, or cannot be used. No request is sent.
    pub async fn configuration(&self) -> Result<kube::Config, ConnectError> {
        let mut config = self.chosen().await?;
        if self.impersonated_user.is_some() {
            config.auth_info.impersonate.clone_from(&self.impersonated_user);
            config.auth_info.impersonate_groups = Some(self.impersonated_groups.clone());
        }
        if let Some(silence) = self.request_timeout.filter(|silence| !silence.is_zero()) {
            (config.read_timeout, config.write_timeout) = (Some(silence), Some(silence));
            // The time of a pooled connection without a request does not count.
            config.reset_reader_on_write = true;
        }
        Ok(config)
    }

    async fn chosen(&self) -> Result<kube::Config, ConnectError> {
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
        let settings = KubeconfigSettings {
            kubeconfig: Some(file),
            context: context.map(str::to_owned),
            ..KubeconfigSettings::default()
        };
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
    async fn a_command_acts_as_another_user() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, TWO).unwrap();
        let groups = vec!["a".to_owned(), "b".to_owned()];
        let silence = Some(Duration::from_secs(5));
        let named = KubeconfigSettings { kubeconfig: Some(file), ..KubeconfigSettings::default() };
        let usual = named.configuration().await.unwrap();
        assert_eq!((usual.auth_info.impersonate, usual.read_timeout), (None, None));
        let impersonated_user = Some("jane".to_owned());
        let settings = KubeconfigSettings {
            impersonated_user,
            impersonated_groups: groups.clone(),
            request_timeout: silence,
            ..named
        };
        let config = settings.configuration().await.unwrap();
        assert_eq!(
            (config.auth_info.impersonate.as_deref(), config.auth_info.impersonate_groups),
            (Some("jane"), Some(groups))
        );
        assert_eq!((config.read_timeout, config.write_timeout), (silence, silence));
        let endless = KubeconfigSettings { request_timeout: Some(Duration::ZERO), ..settings };
        assert_eq!(endless.configuration().await.unwrap().read_timeout, None);
    }

    #[test]
    fn a_timeout_is_a_duration_or_seconds() {
        for (text, expected) in [("5", Some(5)), ("5s", Some(5)), ("1m", Some(60)), ("0", Some(0)), ("soon", None)] {
            assert_eq!(parse_timeout(text).ok(), expected.map(Duration::from_secs), "{text}");
        }
    }

    #[tokio::test]
    async fn what_is_not_there_is_said() {
        let error = configured(Some("third"), TWO).await.unwrap_err().to_string();
        assert!(error.contains("third"), "{error}");
        let settings =
            KubeconfigSettings { kubeconfig: Some("/nowhere/config".into()), ..KubeconfigSettings::default() };
        let error = settings.configuration().await.unwrap_err().to_string();
        assert!(error.contains("/nowhere/config"), "{error}");
    }
}
