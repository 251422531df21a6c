//! The flags and environment variables of both programs' `run`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use drift_api::names::PROJECTED_TOKENS;
use drift_language::is_dns_label;
use drift_language::is_dns_subdomain;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use drift_systems::{BadProxyUrl, NoProxy, ProgramProxy, add_to_system_roots};

use crate::process::instance;
use crate::telemetry::LogFormat;

/// Default address of the admin server. The kubelet and a scraper reach it from outside the Pod.
const ADMIN_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 8080);

/// The exit code for bad usage or configuration. 1 and 2 are results of commands.
pub const BAD_USAGE: u8 = 3;

/// Parses the command line.
///
/// # Errors
/// Returns the exit code if there is nothing to do: 0 after help, 3 after a mistake. The message is already printed.
pub fn parse_command_line<P: clap::Parser>() -> Result<P, ExitCode> {
    let mut command = P::command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = matches.and_then(|matches| {
        EgressSettings::check(&matches).map_err(|text| command.error(ErrorKind::ValueValidation, text))?;
        P::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    });
    parsed.map_err(|error| {
        // If even this print fails, only the exit code remains.
        let _ = error.print();
        if error.use_stderr() { ExitCode::from(BAD_USAGE) } else { ExitCode::SUCCESS }
    })
}

/// The log settings of the daemons.
#[derive(Clone, Debug, clap::Args)]
pub struct LogSettings {
    /// error, warn, info, debug or trace, or a filter such as info,drift_kube=debug
    #[arg(long, global = true, default_value = "info", value_name = "LEVEL")]
    pub log_level: String,
    /// How logs are written to stderr
    #[arg(long, global = true, value_enum, default_value_t)]
    pub log_format: LogFormat,
}

/// The clean-up settings for removed targets.
#[derive(Clone, Debug, clap::Args)]
pub struct CleanUpSettings {
    /// How long no target must have selected an object before what targets left on it is taken away
    #[arg(long, default_value = "10m", value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub clean_up_after: Duration,
}

/// The way out of a network in which only an HTTP proxy leads to external systems.
#[derive(Clone, Debug, clap::Args)]
pub struct EgressSettings {
    /// HTTP proxy for https requests of http sections without their own, such as http://proxy.example:3128. In
    /// HTTPS_PROXY it may have a user and a password: http://user:password@proxy.example:3128
    #[arg(long, env = "HTTPS_PROXY", hide_env_values = true, value_name = "URL", value_parser = parse_proxy)]
    proxy: Option<ProxyUrl>,
    /// Hosts that are reached without the proxy: names with their subdomains, .example for subdomains alone, addresses,
    /// networks, each with :PORT if wanted, or *. Separated by commas. Loopback is always reached directly
    #[arg(long, env = "NO_PROXY", value_name = "LIST")]
    no_proxy: Option<NoProxy>,
    /// PEM file with CA certificates to trust beside the system's, such as that of a proxy that inspects TLS
    #[arg(long, value_name = "FILE")]
    ca_bundle: Option<PathBuf>,
}

/// The URL of a proxy, `None` for an empty text. A fault is kept, because the errors of clap would show the password.
type ProxyUrl = Result<Option<ProgramProxy>, BadProxyUrl>;

#[expect(clippy::unnecessary_wraps, reason = "the form of a parser")]
fn parse_proxy(text: &str) -> Result<ProxyUrl, std::convert::Infallible> {
    Ok(if text.is_empty() { Ok(None) } else { ProgramProxy::new(text).map(Some) })
}

impl EgressSettings {
    /// Returns the proxy, if there is one.
    #[must_use]
    pub fn proxy(&self) -> Option<ProgramProxy> {
        let proxy = self.proxy.clone()?.ok().flatten()?;
        Some(proxy.except(self.no_proxy.clone().unwrap_or_default()))
    }

    /// Trusts the certificates of `--ca-bundle`, before the first connection.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has no valid certificate.
    pub fn trust_bundle(&self) -> Result<(), String> {
        let Some(path) = &self.ca_bundle else { return Ok(()) };
        let bundle = std::fs::read(path).map_err(|error| error.to_string());
        let trusted = bundle.and_then(|bundle| add_to_system_roots(&bundle).map_err(|error| error.to_string()));
        trusted.map_err(|cause| format!("--ca-bundle {}: {cause}", path.display()))
    }

    /// Checks the proxy of a parsed command line.
    ///
    /// # Errors
    /// Fails if its URL is none, or an argument has a password, which every process of the machine could read.
    pub fn check(matches: &clap::ArgMatches) -> Result<(), String> {
        let Some((_, matches)) = matches.subcommand() else { return Ok(()) };
        // Most commands have no such argument.
        let Ok(Some(url)) = matches.try_get_one::<ProxyUrl>("proxy") else { return Ok(()) };
        let is_argument = matches.value_source("proxy") == Some(ValueSource::CommandLine);
        match url {
            Err(error) => Err(error.to_string()),
            Ok(Some(proxy)) if is_argument && proxy.has_credential() => {
                Err("a proxy's password does not belong into an argument; set the variable HTTPS_PROXY".to_owned())
            }
            Ok(_) => Ok(()),
        }
    }
}

/// The namespace and identity of a program.
#[derive(Clone, Debug, clap::Args)]
pub struct HomeSettings {
    /// Namespace of the ConfigMaps, Secrets and the Lease [default: the kubeconfig context's or the pod's]
    #[arg(long, env = "POD_NAMESPACE", value_parser = parse_namespace)]
    pub namespace: Option<String>,
    /// Name of this process among its like [default: the host's name and random digits]
    #[arg(long, env = "POD_NAME")]
    pub instance: Option<String>,
    /// Name of the Lease that the leader holds [default: the program's name]
    #[arg(long, value_parser = parse_lease_name)]
    pub lease_name: Option<String>,
}

/// Parses the name of a Lease that the API server accepts. With another name, a program would never lead, and only its
/// log would show it.
///
/// # Errors
/// Describes a valid name.
pub fn parse_lease_name(text: &str) -> Result<String, String> {
    let wanted = || {
        "the name of a Lease is 1 to 253 of a-z, 0-9, - and ., with a letter or digit at both ends of each part"
            .to_owned()
    };
    if is_dns_subdomain(text) { Ok(text.to_owned()) } else { Err(wanted()) }
}

/// Parses a memory limit. A Pod without one has the memory of its node here.
///
/// # Errors
/// Describes a valid limit.
pub fn parse_memory_limit(text: &str) -> Result<u64, String> {
    /// Less than the programs themselves take.
    const LEAST: u64 = 16 * 1024 * 1024;
    let bytes = text.parse().ok().filter(|bytes| *bytes >= LEAST);
    bytes.ok_or_else(|| "a memory limit is a number of bytes, 16777216 (16 MiB) or more".to_owned())
}

/// Parses the name of a namespace that the API server accepts.
///
/// # Errors
/// Describes a valid name.
pub fn parse_namespace(text: &str) -> Result<String, String> {
    let wanted =
        || "the name of a namespace is 1 to 63 of a-z, 0-9 and -, with a letter or digit at both ends".to_owned();
    if is_dns_label(text) { Ok(text.to_owned()) } else { Err(wanted()) }
}

/// The settings of a long-running program.
#[derive(Clone, Debug, clap::Args)]
pub struct RunSettings {
    /// Its namespace and identity.
    #[command(flatten)]
    pub home: HomeSettings,
    /// Where /livez, /readyz and /metrics are served
    #[arg(long, default_value_t = ADMIN_ADDRESS)]
    pub admin_address: SocketAddr,
    /// Folder with projected tokens of the ServiceAccount, for targets with serviceAccountToken
    #[arg(long, value_name = "DIR", default_value = PROJECTED_TOKENS)]
    pub projected_tokens: PathBuf,
    /// Memory limit of the container in bytes. Objects may take three eighths of it, those of one namespace half of
    /// that [default: objects take what they need]
    #[arg(long, env = "MEMORY_LIMIT", value_name = "BYTES", value_parser = parse_memory_limit)]
    pub memory_limit: Option<u64>,
    /// The way to external systems.
    #[command(flatten)]
    pub egress: EgressSettings,
}

impl HomeSettings {
    /// Returns the given namespace, or the client's.
    #[must_use]
    pub fn namespace(&self, client: &kube::Client) -> String {
        self.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned())
    }

    /// Returns the given name, or a unique one.
    #[must_use]
    pub fn instance(&self) -> String {
        self.instance.clone().unwrap_or_else(instance::default_instance)
    }

    /// Returns the given Lease name, or `default`.
    #[must_use]
    pub fn lease_name(&self, default: &str) -> String {
        self.lease_name.clone().unwrap_or_else(|| default.to_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn parsed<T: Args + FromArgMatches>(arguments: &[&str]) -> T {
        // The test must not depend on these variables in its environment.
        let command = T::augment_args(Command::new("p")).mut_args(|argument| argument.env(None::<&str>));
        T::from_arg_matches(&command.try_get_matches_from([&["p"], arguments].concat()).unwrap()).unwrap()
    }

    #[test]
    fn nothing_needs_to_be_said() {
        let settings: RunSettings = parsed(&[]);
        assert_eq!(settings.admin_address.to_string(), "0.0.0.0:8080");
        assert_eq!(settings.home.lease_name("drift-poller"), "drift-poller");
        assert_ne!(settings.home.instance(), settings.home.instance());
        let clean_up: CleanUpSettings = parsed(&[]);
        assert_eq!(clean_up.clean_up_after, Duration::from_secs(600));
        let logs: LogSettings = parsed(&[]);
        assert_eq!((logs.log_level.as_str(), logs.log_format), ("info", LogFormat::Auto));
    }

    #[test]
    fn a_name_that_nothing_can_have_is_refused() {
        let command = HomeSettings::augment_args(Command::new("p")).mut_args(|argument| argument.env(None::<&str>));
        for arguments in
            [["--lease-name", ""], ["--lease-name", "Upper"], ["--lease-name", "a..b"], ["--namespace", ""]]
        {
            let refused = command.clone().try_get_matches_from([&["p"], &arguments[..]].concat()).unwrap_err();
            assert!(refused.to_string().contains("1 to "), "{refused}");
        }
        assert_eq!(parse_lease_name("a.b-1").as_deref(), Ok("a.b-1"));
    }

    #[test]
    fn a_memory_limit_is_a_number_of_bytes() {
        assert_eq!(parse_memory_limit("134217728"), Ok(134_217_728));
        for text in ["", "128Mi", "1024", "-1"] {
            assert!(parse_memory_limit(text).unwrap_err().contains("16777216"), "{text}");
        }
    }

    #[test]
    fn a_bundle_without_certificates_is_named() {
        for file in ["/nowhere/ca.crt", "Cargo.toml"] {
            let error = parsed::<EgressSettings>(&["--ca-bundle", file]).trust_bundle().unwrap_err();
            assert!(error.starts_with(&format!("--ca-bundle {file}: ")), "{error}");
        }
    }

    #[test]
    fn a_password_is_no_argument() {
        let checked = |name: Option<&'static str>, arguments: &[&str]| {
            let run = EgressSettings::augment_args(Command::new("run"));
            let run = run.mut_args(|argument| match argument.get_id().as_str() {
                "proxy" => argument.env(name),
                _ => argument.env(None::<&str>),
            });
            let words = [&["p", "run"], arguments].concat();
            EgressSettings::check(&Command::new("p").subcommand(run).try_get_matches_from(words).unwrap())
        };
        assert_eq!(checked(None, &[]), Ok(()));
        assert_eq!(checked(None, &["--proxy", ""]), Ok(()));
        assert_eq!(checked(None, &["--proxy", "http://proxy.example:3128", "--no-proxy", ".svc"]), Ok(()));
        let shown = checked(None, &["--proxy", "http://u:canary@proxy.example:3128"]).unwrap_err();
        assert!(shown.contains("set the variable HTTPS_PROXY") && !shown.contains("canary"), "{shown}");
        let wrong = checked(None, &["--proxy", "socks5://u:canary@proxy.example"]).unwrap_err();
        assert!(wrong.contains("http://HOST:PORT") && !wrong.contains("canary"), "{wrong}");
        // In place of HTTPS_PROXY.
        assert!(checked(Some("PATH"), &[]).is_err(), "the variable is not read");
        assert!(parsed::<EgressSettings>(&["--proxy", "http://proxy.example:3128"]).proxy().is_some());
        assert!(parsed::<EgressSettings>(&["--proxy", ""]).proxy().is_none());
    }

    #[test]
    fn what_is_said_counts() {
        let arguments = ["--instance", "i", "--lease-name", "l", "--admin-address", "127.0.0.1:0"];
        let settings: RunSettings = parsed(&arguments);
        assert_eq!((settings.home.instance().as_str(), settings.home.lease_name("x").as_str()), ("i", "l"));
        let logs: LogSettings = parsed(&["--log-format", "json", "--log-level", "debug"]);
        assert_eq!(logs.log_format, LogFormat::Json);
    }
}
