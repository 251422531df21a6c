//! The cluster of a command: kubeconfig and context, as in kubectl.

use std::path::PathBuf;
use std::time::Duration;

use drift_systems::NoProxy;
use http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use url::Url;

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
        let known = match &self.kubeconfig {
            None if self.context.is_none() => return configuration().await,
            None => Kubeconfig::read(),
            Some(file) => Kubeconfig::read_from(file),
        };
        let unusable = |error: KubeconfigError| ConnectError::Unusable(causes(&error));
        loaded(known.map_err(unusable)?, &options).await.map_err(unusable)?
    }
}

/// Returns the configuration of a context, or the fault of its proxy.
///
/// # Errors
/// Fails if the context does not exist, or cannot be used.
#[expect(clippy::disallowed_methods, reason = "these variables count as for kubectl, whatever the command line")]
pub(super) async fn loaded(
    known: Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<Result<kube::Config, ConnectError>, KubeconfigError> {
    let named = named_proxy(&known, options.context.as_ref());
    let mut config = kube::Config::from_custom_kubeconfig(known, options).await?;
    let variable = |name: &str| std::env::var(name).or_else(|_| std::env::var(name.to_lowercase())).unwrap_or_default();
    let variables = || [variable("HTTPS_PROXY"), variable("NO_PROXY")];
    Ok(proxy_of(named, variables, &config.cluster_url).map(|proxy| {
        config.proxy_url = proxy;
        config
    }))
}

/// Returns the `proxy-url` of a context's cluster.
fn named_proxy(known: &Kubeconfig, context: Option<&String>) -> Option<String> {
    let context = context.or(known.current_context.as_ref())?;
    let context = known.contexts.iter().find(|named| named.name == *context)?.context.as_ref()?;
    let cluster = known.clusters.iter().find(|named| named.name == context.cluster)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|url| !url.is_empty())
}

/// Returns the proxy to a cluster, as for kubectl: `proxy-url` always counts, and `HTTPS_PROXY` except for the hosts of
/// `NO_PROXY`. kube compares `NO_PROXY` with the proxy's own host.
fn proxy_of(
    named: Option<String>,
    variables: impl FnOnce() -> [String; 2],
    cluster: &Uri,
) -> Result<Option<Uri>, ConnectError> {
    let url = match named {
        Some(url) => url,
        None => {
            let [proxy, except] = variables();
            let except: NoProxy = except.parse().unwrap_or_default();
            if proxy.is_empty() || Url::parse(&cluster.to_string()).is_ok_and(|cluster| except.holds(&cluster)) {
                return Ok(None);
            }
            proxy
        }
    };
    let whole = if url.contains("://") { url } else { format!("http://{url}") };
    let uri = whole.parse::<Uri>().ok();
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https" | "socks5")));
    // A URL may hold a password, so that no text has it.
    let wanted = "proxy-url of the kubeconfig, or HTTPS_PROXY, is no http://, https:// or socks5:// URL";
    uri.map(Some).ok_or_else(|| ConnectError::Unusable(wanted.to_owned()))
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

    #[test]
    fn a_proxy_is_chosen_as_by_kubectl() {
        let table = [
            (None, "", "", "https://api.corp:6443", Ok(None)),
            (Some("http://way.corp:3128"), "", "api.corp", "https://api.corp:6443", Ok(Some("http://way.corp:3128/"))),
            (Some("http://way.corp:3128"), "", "*", "https://127.0.0.1:6443", Ok(Some("http://way.corp:3128/"))),
            (Some("socks5://way.corp:1080"), "http://x:1", "", "https://api", Ok(Some("socks5://way.corp:1080/"))),
            (None, "http://way.corp:3128", "", "https://api.corp:6443", Ok(Some("http://way.corp:3128/"))),
            (None, "way.corp:3128", "way.corp", "https://api.corp:6443", Ok(Some("http://way.corp:3128/"))),
            (None, "http://way.corp:3128", ".corp", "https://api.corp:6443", Ok(None)),
            (None, "http://way.corp:3128", "", "https://127.0.0.1:6443", Ok(None)),
            (Some("ftp://u:canary@way.corp"), "", "", "https://api.corp:6443", Err("is no http://")),
            (None, "http://u:canary@way corp", "", "https://api.corp:6443", Err("is no http://")),
        ];
        for (named, proxy, except, cluster, expected) in table {
            let variables = || [proxy, except].map(str::to_owned);
            let got = proxy_of(named.map(str::to_owned), variables, &cluster.parse().unwrap());
            match (got, expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got.map(|uri| uri.to_string()).as_deref(), expected, "{named:?}"),
                (Err(got), Err(expected)) => {
                    let got = got.to_string();
                    assert!(got.contains(expected) && !got.contains("canary"), "{got}");
                }
                (got, expected) => panic!("{named:?} {proxy}: {got:?}, not {expected:?}"),
            }
        }
    }

    #[tokio::test]
    async fn the_proxy_of_the_context_counts() {
        let text =
            TWO.replace("'http://other.example'", "'http://other.example', proxy-url: 'http://way.example:3128'");
        let other = configured(Some("other"), &text).await.unwrap();
        assert_eq!(other.proxy_url.map(|url| url.to_string()).as_deref(), Some("http://way.example:3128/"));
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
