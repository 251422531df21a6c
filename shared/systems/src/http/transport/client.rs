//! One pair of HTTP clients per way of connecting: reusing connections, without redirects and proxies.
//!
//! hyper's own client and nothing above it, so that a request costs no more than what is done for it. This file must not
//! know targets or Secrets.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::http::transport::connector::{Connector, Dialler};
use crate::http::transport::tls::{ClientError, Material, configuration};

/// How long an unused connection is kept. Under the 60 s after which common load balancers drop one silently.
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

/// A client of one way of connecting.
pub(in crate::http) type Client = legacy::Client<Connector, Full<Bytes>>;

/// The clients of one way of connecting.
#[derive(Clone, Debug)]
pub(in crate::http) struct Clients {
    /// Keeps connections and uses them again.
    pub(in crate::http) reusing: Client,
    /// Opens a connection for every request.
    pub(in crate::http) fresh: Client,
}

impl Clients {
    pub(in crate::http) fn build(material: Material<'_>, dialler: Dialler) -> Result<Arc<Self>, ClientError> {
        let connector = Connector::new(dialler, configuration(material)?);
        let reusing = client(connector.clone(), KEPT_CONNECTIONS);
        Ok(Arc::new(Self { reusing, fresh: client(connector, 0) }))
    }
}

/// A client that keeps so many connections to a host.
#[expect(clippy::disallowed_methods, reason = "this is the place that all others call")]
fn client(connector: Connector, kept: usize) -> Client {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(kept)
        .http2_keep_alive_interval(ALIVE_INTERVAL)
        .http2_keep_alive_timeout(ALIVE_TIMEOUT)
        .build(connector)
}
