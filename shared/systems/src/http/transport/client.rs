//! One pair of HTTP clients for each way of connecting: they reuse connections, and never redirect, retry or use a proxy.
//!
//! reqwest probes a silent TCP connection by default, and drops one on which nothing is acknowledged for 30 s.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::ACCEPT_ENCODING;
use reqwest::{Client, redirect, retry};
use tower::util::MapResponseLayer;

use crate::http::transport::opened;
use crate::http::transport::resolver::GuardedResolver;
use crate::http::transport::tls::{ClientError, Material, configuration};

/// Longest wait for DNS, TCP and TLS together. Half of the default deadline of a poll (10 s), so that an unreachable
/// host is told apart from a slow one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time that an unused connection is kept. Under the 60 s after which common load balancers drop one silently.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Unused connections to a host that are kept. One that is closed because others are unused too has to be opened again at the next
/// burst, which costs more than the request; a core that does nothing else has about a hundred requests under way. Each takes some
/// 40 KiB, and what no burst needs ends 30 to 60 s later.
const KEPT_CONNECTIONS: usize = 128;

/// An HTTP/2 connection with requests under way is asked for a sign of life this often, and dropped when none comes
/// within [`ALIVE_TIMEOUT`]: a request whose deadline passes leaves such a connection open, and the next would be
/// sent into the same void.
const ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// See [`ALIVE_INTERVAL`].
const ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The clients of one way of connecting.
#[derive(Clone, Debug)]
pub(in crate::http) struct Clients {
    /// Keeps connections and uses them again.
    pub(in crate::http) reusing: Client,
    /// Opens a connection for every request.
    pub(in crate::http) fresh: Client,
}

impl Clients {
    /// Clients that connect through the unix socket if there is one, otherwise to the addresses that `resolver` gives.
    /// `program` names them in the user agent.
    pub(in crate::http) fn build(
        material: Material<'_>,
        socket: Option<&str>,
        resolver: GuardedResolver,
        program: &str,
    ) -> Result<Arc<Self>, ClientError> {
        let tls = configuration(material)?;
        let resolver = Arc::new(resolver);
        let client = |kept: usize| {
            let builder = builder(program, kept).tls_backend_preconfigured(tls.clone()).dns_resolver(resolver.clone());
            let builder = match socket {
                Some(path) => builder.unix_socket(path),
                None => builder,
            };
            builder.build().map_err(|_| ClientError::Build)
        };
        Ok(Arc::new(Self { reusing: client(KEPT_CONNECTIONS)?, fresh: client(0)? }))
    }
}

/// A client that keeps so many connections to a host.
#[expect(clippy::disallowed_methods, reason = "this is the place that all others call")]
fn builder(program: &str, kept: usize) -> reqwest::ClientBuilder {
    Client::builder()
        // Not starting with "Mozilla": some ingresses answer browsers with a log-in page instead of 401.
        .user_agent(format!("{program}/{}", env!("CARGO_PKG_VERSION")))
        .default_headers([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))].into_iter().collect())
        // reqwest would read only the first member of a packed body, and call it whole.
        .no_gzip()
        .redirect(redirect::Policy::none())
        .no_proxy()
        // With the limit of zero reqwest keeps no copy of the request.
        .retry(retry::never().max_retries_per_request(0))
        .connect_timeout(CONNECT_TIMEOUT)
        .connector_layer(MapResponseLayer::new(opened::note))
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(kept)
        .http2_keep_alive_interval(ALIVE_INTERVAL)
        .http2_keep_alive_timeout(ALIVE_TIMEOUT)
}
