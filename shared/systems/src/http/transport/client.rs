//! A pair of HTTP clients for each way of connecting. They reuse connections, never redirect or retry, and read no proxy
//! variables.
//!
//! reqwest probes a silent TCP connection by default, and drops one on which nothing is acknowledged for 30 s.
//!
//! The client only dials allowed addresses of a host, and resolves anew for each connection. A literal address is never
//! resolved: the sender of a request checks it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::ACCEPT_ENCODING;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Proxy, redirect, retry};

use crate::guard::dialling::{AddressRefused, DialRules};
use crate::guard::stream::CONNECT_TIMEOUT;
use crate::http::transport::tls::{ClientError, Material, configuration};

/// Idle timeout of a connection. Below the 60 s after which common load balancers drop one silently.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum idle connections to a host. A connection closed for too many idle ones must be opened again at the next
/// burst, which costs more than the request. A core that does nothing else has about a hundred requests in flight. Each
/// connection takes about 40 KiB, and unneeded ones end 30 to 60 s later.
const KEPT_CONNECTIONS: usize = 128;

/// Ping interval of an HTTP/2 connection with requests in flight. It is dropped without a response within
/// [`ALIVE_TIMEOUT`]: a request that misses its deadline leaves such a connection open, and the next one would
/// be lost too.
const ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Timeout of the ping of [`ALIVE_INTERVAL`].
const ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The clients of one way of connecting.
#[derive(Clone, Debug)]
pub(in crate::http) struct Clients {
    /// Reuses idle connections.
    pub(in crate::http) reusing: Client,
    /// Opens a new connection for every request.
    pub(in crate::http) fresh: Client,
    /// Host and port of their proxy.
    pub(in crate::http) proxy: Option<String>,
}

/// The way of clients to a host.
#[derive(Debug)]
pub(in crate::http) enum Way<'a> {
    /// To the addresses of its name.
    Direct,
    /// Through a unix socket.
    Socket(&'a str),
    /// A proxy with its host and port.
    Proxy(Box<Proxy>, String),
}

impl Clients {
    /// Builds clients that connect this way, to addresses from `resolver`. `program` is their name in the user agent.
    pub(in crate::http) fn build(
        material: Material<'_>,
        way: &Way<'_>,
        resolver: GuardedResolver,
        program: &str,
    ) -> Result<Arc<Self>, ClientError> {
        let tls = configuration(material)?;
        let resolver = Arc::new(resolver);
        let client = |kept: usize| {
            let builder = builder(program, kept).tls_backend_preconfigured(tls.clone()).dns_resolver(resolver.clone());
            through(way, builder)?.build().map_err(|_| ClientError::Build)
        };
        Ok(Arc::new(Self { reusing: client(KEPT_CONNECTIONS)?, fresh: client(0)?, proxy: way.proxy() }))
    }
}

impl Way<'_> {
    fn proxy(&self) -> Option<String> {
        if let Self::Proxy(_, host) = self { Some(host.clone()) } else { None }
    }
}

/// Returns a builder of clients that connect this way. Not every platform has unix sockets.
fn through(way: &Way<'_>, builder: reqwest::ClientBuilder) -> Result<reqwest::ClientBuilder, ClientError> {
    match way {
        Way::Direct => Ok(builder),
        #[cfg(unix)]
        Way::Socket(path) => Ok(builder.unix_socket(*path)),
        #[cfg(not(unix))]
        Way::Socket(_) => Err(ClientError::Build),
        Way::Proxy(proxy, _) => Ok(builder.proxy(Proxy::clone(proxy))),
    }
}

/// Returns the builder of a client that keeps this many idle connections to a host.
#[expect(clippy::disallowed_methods, reason = "this is the place that all others call")]
fn builder(program: &str, kept: usize) -> reqwest::ClientBuilder {
    Client::builder()
        // Does not start with "Mozilla": some ingresses answer browsers with a login page instead of 401.
        .user_agent(format!("{program}/{}", env!("CARGO_PKG_VERSION")))
        .default_headers([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))].into_iter().collect())
        // reqwest would decode only the first gzip member, and treat the body as complete.
        .no_gzip()
        .redirect(redirect::Policy::none())
        .no_proxy()
        // With a limit of zero, reqwest keeps no copy of the request.
        .retry(retry::never().max_retries_per_request(0))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(kept)
        .http2_keep_alive_interval(ALIVE_INTERVAL)
        .http2_keep_alive_timeout(ALIVE_TIMEOUT)
}

/// The system's resolver.
#[derive(Debug)]
pub(in crate::http) struct SystemResolver;

/// Filters out addresses that must not be dialled.
pub(in crate::http) struct GuardedResolver {
    pub(in crate::http) names: Arc<dyn Resolve>,
    pub(in crate::http) rules: DialRules,
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            // The port comes from the URL.
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (found, rules) = (self.names.resolve(name), self.rules.clone());
        Box::pin(async move {
            let mut addresses: Vec<_> = found.await?.collect();
            if addresses.is_empty() {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            addresses.retain(|address| rules.allow(address.ip()));
            if addresses.is_empty() {
                return Err(AddressRefused.into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
