//! Opens connections for the HTTP client: to an address that may be dialled or to a unix socket, with TLS where the URL says so.
//!
//! One limit of time stands over name, TCP and TLS together. This file must not know requests, nor whose certificates are
//! believed.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::UnixStream;
use tower::Service;

use crate::guard::wire::Wire;
use crate::http::transport::opened;
use crate::http::transport::resolver::{BoxError, GuardedResolver};

/// Longest wait for DNS, TCP and TLS together. Half of the default deadline of a poll (10 s), so that an unreachable
/// host is told apart from a slow one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection on which nothing is heard for so long is asked for a sign of life by TCP, and again after as long. A third of
/// the time for which load balancers commonly keep one that says nothing.
const PROBE_INTERVAL: Duration = Duration::from_secs(15);

/// Signs of life that may stay out.
const PROBES: u32 = 3;

/// What was sent must be acknowledged within that time, else the connection is dead: a request's deadline leaves the
/// connection to the next.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// Opens connections. Cheap to clone: the client does so for each request.
#[derive(Clone)]
pub(in crate::http) struct Connector {
    https: Arc<HttpsConnector<Dialler>>,
}

/// Where a connection leads.
#[derive(Clone)]
pub(in crate::http) enum Dialler {
    /// To the host of the URL, by the addresses that the resolver gives.
    Network(HttpConnector<GuardedResolver>),
    /// Through this unix socket; the URL's host is then only a header.
    Socket(Arc<str>),
}

impl Connector {
    pub(in crate::http) fn new(dialler: Dialler, tls: ClientConfig) -> Self {
        Self { https: Arc::new(HttpsConnector::from((dialler, tls))) }
    }
}

impl Dialler {
    /// To addresses that `resolver` gives.
    pub(in crate::http) fn network(resolver: GuardedResolver) -> Self {
        let mut network = HttpConnector::new_with_resolver(resolver);
        network.enforce_http(false);
        network.set_nodelay(true);
        // Shared by the addresses of a name, so that one that swallows everything leaves time for the others.
        network.set_connect_timeout(Some(CONNECT_TIMEOUT));
        network.set_keepalive(Some(PROBE_INTERVAL));
        network.set_keepalive_interval(Some(PROBE_INTERVAL));
        network.set_keepalive_retries(Some(PROBES));
        #[cfg(target_os = "linux")]
        network.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        Self::Network(network)
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<Box<dyn Wire>>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let opening = HttpsConnector::clone(&self.https).call(destination);
        Box::pin(async move {
            let opened = tokio::time::timeout(CONNECT_TIMEOUT, opening).await;
            let opened = opened.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            opened::note();
            Ok(opened)
        })
    }
}

impl Service<Uri> for Dialler {
    type Response = TokioIo<Box<dyn Wire>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Self::Network(network) => network.poll_ready(context).map_err(Into::into),
            Self::Socket(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, destination: Uri) -> Self::Future {
        let wire = |wire: Box<dyn Wire>| Ok(TokioIo::new(wire));
        match self {
            Self::Network(network) => {
                let dialled = network.call(destination);
                Box::pin(async move { wire(Box::new(dialled.await?.into_inner())) })
            }
            Self::Socket(path) => {
                let path = path.clone();
                Box::pin(async move { wire(Box::new(UnixStream::connect(&*path).await?)) })
            }
        }
    }
}

impl Connection for Box<dyn Wire> {
    /// TLS says besides which protocol was agreed upon.
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
