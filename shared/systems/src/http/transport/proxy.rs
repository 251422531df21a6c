//! The HTTP proxy of a request: that of its target, otherwise that of the program.
//!
//! reqwest sends an https request through a proxy by CONNECT, but an http request whole, with its credential. So only
//! https goes through a proxy. The proxy resolves the host's name, so the dial guard judges the proxy's own address, and
//! of the host only its text.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use drift_language::{Network, Proxy};
use http::HeaderValue;
use url::{Host, Url};

use crate::http::auth::basic_value;

/// The proxy of the program: `--proxy`, or `HTTPS_PROXY`. `Debug` shows no credential.
#[derive(Clone)]
pub struct ProgramProxy {
    /// The URL without its credential.
    pub(in crate::http) proxy: Proxy,
    pub(in crate::http) credential: Option<HeaderValue>,
    /// Hosts that are reached directly.
    except: Arc<NoProxy>,
}

/// The URL of a proxy is invalid. Contains no part of it, because it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the proxy's URL must be http://HOST:PORT or https://HOST:PORT, in HTTPS_PROXY also with USER:PASSWORD@ before the host"
)]
pub struct BadProxyUrl;

impl ProgramProxy {
    /// Creates the proxy from a URL, which may carry a user and a password, and may lack its scheme.
    ///
    /// # Errors
    /// Fails if it is no such URL.
    pub fn new(url: &str) -> Result<Self, BadProxyUrl> {
        let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let mut url = Url::parse(&whole).map_err(|_| BadProxyUrl)?;
        if !matches!(url.scheme(), "http" | "https") || url.path() != "/" || url.query().is_some() {
            return Err(BadProxyUrl);
        }
        let part = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (user, password) = (part(url.username()), url.password().map(part));
        let has_credential = !user.is_empty() || password.is_some();
        let credential = has_credential.then(|| basic_value(&user, password.as_deref().unwrap_or_default()));
        // Both fail only for URLs that cannot have userinfo.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Ok(Self { proxy: Proxy { url, secret: None }, credential: credential.flatten(), except: Arc::default() })
    }

    /// Returns true if its URL carried a user or a password.
    #[must_use]
    pub const fn has_credential(&self) -> bool {
        self.credential.is_some()
    }

    /// Excepts these hosts.
    #[must_use]
    pub fn except(self, hosts: NoProxy) -> Self {
        Self { except: Arc::new(hosts), ..self }
    }

    /// Returns true if requests to this URL go through the proxy. Like programs in Go with `HTTPS_PROXY`, it is used for
    /// https alone, so that Services of the cluster stay reachable.
    pub(in crate::http) fn carries(&self, url: &Url) -> bool {
        url.scheme() == "https" && !self.except.holds(url)
    }
}

impl fmt::Debug for ProgramProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProgramProxy").field("host", &self.proxy.host()).finish_non_exhaustive()
    }
}

/// The hosts that are reached without the program's proxy: `NO_PROXY` with the meaning that Go's programs give it
/// (golang.org/x/net/http/httpproxy). Loopback is always among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoProxy(Vec<Exception>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Exception {
    host: ExceptedHost,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ExceptedHost {
    /// `*`
    Any,
    Network(Network),
    /// The name without a leading dot. With one, the name itself is not excepted.
    Name {
        name: String,
        is_itself: bool,
    },
}

impl NoProxy {
    /// Returns true if this URL is reached directly.
    #[must_use]
    pub fn holds(&self, url: &Url) -> bool {
        let port = url.port_or_known_default();
        let fits = |fits: &dyn Fn(&ExceptedHost) -> bool| {
            let of_port = |entry: &&Exception| entry.port.is_none() || entry.port == port;
            self.0.iter().filter(of_port).any(|entry| fits(&entry.host))
        };
        let address = |address: IpAddr| {
            let address = address.to_canonical();
            address.is_loopback() || fits(&|host| host.holds_address(address))
        };
        match url.host() {
            Some(Host::Ipv4(of_host)) => address(of_host.into()),
            Some(Host::Ipv6(of_host)) => address(of_host.into()),
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name == "localhost" || fits(&|host| host.holds_name(name))
            }
            None => false,
        }
    }
}

impl ExceptedHost {
    fn holds_address(&self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Network(network) => network.contains(address),
            Self::Name { .. } => false,
        }
    }

    fn holds_name(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Network(_) => false,
            Self::Name { name: of, is_itself } => match name.strip_suffix(of.as_str()) {
                Some("") => *is_itself,
                Some(before) => before.ends_with('.'),
                None => false,
            },
        }
    }
}

/// Every text is a list, because Go's programs ignore entries that they do not know.
impl FromStr for NoProxy {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let entries = text.split([',', ' ']).map(str::trim).filter(|entry| !entry.is_empty());
        Ok(Self(entries.map(Exception::parse).collect()))
    }
}

impl Exception {
    fn parse(entry: &str) -> Self {
        let entry = entry.to_ascii_lowercase();
        let network = |text: &str| {
            let address = text.trim_matches(['[', ']']).parse::<IpAddr>().map(|address| address.to_canonical());
            address.map_or_else(|_| text.parse(), |address| address.to_string().parse()).ok().map(ExceptedHost::Network)
        };
        if let Some(host) = network(&entry) {
            return Self { host, port: None };
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()),
            None => (entry.as_str(), None),
        };
        let host = network(name).unwrap_or_else(|| match name {
            "*" => ExceptedHost::Any,
            name => {
                let name = name.strip_prefix('*').unwrap_or(name).trim_end_matches('.');
                let bare = name.strip_prefix('.');
                ExceptedHost::Name { name: bare.unwrap_or(name).to_owned(), is_itself: bare.is_none() }
            }
        });
        Self { host, port }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_exceptions_means_what_it_means_in_go() {
        let table = [
            ("", "https://a.example/", false),
            ("", "https://localhost:8443/", true),
            ("", "https://127.0.0.9/", true),
            ("", "https://[::1]/", true),
            ("", "https://[::ffff:127.0.0.1]/", true),
            ("*", "https://a.example/", true),
            ("*", "https://10.0.0.1/", true),
            ("a.example", "https://A.Example/", true),
            ("a.example", "https://a.example./", true),
            ("a.example", "https://b.a.example/", true),
            ("a.example", "https://ba.example/", false),
            ("a.example", "https://a.example.org/", false),
            (".a.example", "https://a.example/", false),
            (".a.example", "https://b.a.example/", true),
            ("*.a.example", "https://b.a.example/", true),
            ("*.a.example", "https://a.example/", false),
            (".Corp , b.example", "https://x.corp/", true),
            (".corp b.example", "https://b.example/", true),
            ("a.example:8443", "https://a.example:8443/", true),
            ("a.example:8443", "https://a.example/", false),
            ("a.example:443", "https://a.example/", true),
            ("10.0.0.1", "https://10.0.0.1/", true),
            ("10.0.0.1", "https://10.0.0.2/", false),
            ("10.0.0.1:8443", "https://10.0.0.1:8443/", true),
            ("10.0.0.1:8443", "https://10.0.0.1/", false),
            ("10.0.0.0/8", "https://10.9.9.9/", true),
            ("10.0.0.0/8", "https://11.0.0.1/", false),
            ("10.0.0.0/8", "https://[::ffff:10.0.0.1]/", true),
            ("10.0.0.0/8", "https://10.example/", false),
            ("fd00::/8", "https://[fd12::1]/", true),
            ("fd12::1", "https://[fd12::1]/", true),
            ("[fd12::1]:8443", "https://[fd12::1]:8443/", true),
            ("[fd12::1]:8443", "https://[fd12::1]/", false),
            ("no host, ,:", "https://a.example/", false),
        ];
        for (list, url, expected) in table {
            let except: NoProxy = list.parse().unwrap();
            assert_eq!(except.holds(&url.parse().unwrap()), expected, "{list} {url}");
        }
    }

    #[test]
    fn the_proxy_of_the_program_carries_https_alone() {
        let proxy = ProgramProxy::new("proxy.corp:3128").unwrap().except("git.corp".parse().unwrap());
        for (url, expected) in
            [("https://api.example/", true), ("http://api.example/", false), ("https://git.corp/", false)]
        {
            assert_eq!(proxy.carries(&url.parse().unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn a_proxy_hides_its_credential() {
        let proxy = ProgramProxy::new("http://ann:p%40ss%25@Proxy.corp:3128").unwrap();
        assert_eq!(format!("{proxy:?}"), "ProgramProxy { host: \"proxy.corp:3128\", .. }");
        let credential = proxy.credential.unwrap();
        assert_eq!((credential.to_str().unwrap(), credential.is_sensitive()), ("Basic YW5uOnBAc3Ml", true));
        assert_eq!(proxy.proxy.url.as_str(), "http://proxy.corp:3128/");
        assert_eq!(ProgramProxy::new("proxy.corp:3128").unwrap().proxy.host(), "proxy.corp:3128");
        for url in ["socks5://proxy.corp:1080", "http://proxy.corp/x", "http://", "", "http://proxy corp"] {
            assert_eq!(ProgramProxy::new(url).err(), Some(BadProxyUrl), "{url}");
        }
    }
}
