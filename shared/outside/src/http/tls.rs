//! One HTTP client per way of connecting: bounded, without redirects and proxies, reusing connections.
//!
//! Without a private CA the roots are the system's: the files that `SSL_CERT_FILE` or `SSL_CERT_DIR` name, else the
//! usual places of a CA bundle, which a distroless image has too. A private CA replaces them. This file must not know
//! targets or Secrets; it gets the bundle as bytes.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, redirect};
use tower::util::MapResponseLayer;

use crate::http::opened;
use crate::http::resolver::GuardedResolver;

/// Longest wait for DNS, TCP and TLS together. Half of the default deadline of a poll (10 s), so that an unreachable
/// host is told apart from a slow one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an unused connection is kept. Under the 60 s after which common load balancers drop one silently.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// An HTTP/2 connection with requests under way is asked for a sign of life this often, and dropped when none comes
/// within [`ALIVE_TIMEOUT`]: a request whose deadline passes leaves such a connection open, and the next would be
/// sent into the same void.
const ALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// See [`ALIVE_INTERVAL`].
const ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The clients of one set of roots.
#[derive(Clone, Debug)]
pub(super) struct Clients {
    /// Keeps connections and uses them again.
    pub(super) reusing: Client,
    /// Opens a connection for every request.
    pub(super) fresh: Client,
}

/// Which roots are trusted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Roots<'a> {
    /// Nobody's: for plain HTTP, which has no use for the megabytes that loading the system's takes.
    Nobody,
    /// The system's.
    System,
    /// Only those of this PEM bundle.
    Only(&'a [u8]),
}

/// Why there are no clients. Closed texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClientError {
    /// Not one certificate in the bundle, or one that cannot be read.
    #[error("not a PEM bundle of CA certificates")]
    Bundle,
    /// The client itself cannot be built.
    #[error("the HTTP client cannot be built")]
    Build,
}

impl Clients {
    pub(super) fn build(
        roots: Roots<'_>,
        names: Arc<GuardedResolver>,
        program: &'static str,
    ) -> Result<Arc<Self>, ClientError> {
        // Every main installs the provider first; only tests come here without one, and a second attempt is ignored.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let reusing = build(roots, || guarded(&names, program).pool_max_idle_per_host(crate::HOST_CONCURRENCY))?;
        let fresh = build(roots, || guarded(&names, program).pool_max_idle_per_host(0))?;
        Ok(Arc::new(Self { reusing, fresh }))
    }
}

fn build(roots: Roots<'_>, builder: impl Fn() -> ClientBuilder) -> Result<Client, ClientError> {
    match roots {
        Roots::Nobody => builder().tls_certs_only([]).build().map_err(|_| ClientError::Build),
        // An image without a CA bundle can still speak plain HTTP: there no issuer is trusted.
        Roots::System => {
            builder().build().or_else(|_| builder().tls_certs_only([]).build()).map_err(|_| ClientError::Build)
        }
        Roots::Only(bundle) => {
            let certificates = Certificate::from_pem_bundle(bundle).map_err(|_| ClientError::Bundle)?;
            if certificates.is_empty() {
                return Err(ClientError::Bundle);
            }
            builder().tls_certs_only(certificates).build().map_err(|_| ClientError::Bundle)
        }
    }
}

/// A builder with every guard set that does not depend on the target.
#[allow(clippy::disallowed_methods, reason = "this is the place that all others call")]
fn guarded(names: &Arc<GuardedResolver>, program: &'static str) -> ClientBuilder {
    Client::builder()
        // Not starting with "Mozilla": some ingresses answer browsers with a log-in page instead of 401.
        .user_agent(format!("{program}/{}", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .dns_resolver(names.clone())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .http2_keep_alive_interval(ALIVE_INTERVAL)
        .http2_keep_alive_timeout(ALIVE_TIMEOUT)
        .connector_layer(MapResponseLayer::new(opened::note))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::dialling::DialRules;
    use crate::http::resolver::SystemResolver;

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        for bundle in ["", "canary", "-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----\n"] {
            let names = GuardedResolver { names: Arc::new(SystemResolver), rules: DialRules::default() };
            let error = Clients::build(Roots::Only(bundle.as_bytes()), Arc::new(names), "test").map(|_| ()).err();
            assert_eq!(error, Some(ClientError::Bundle), "{bundle}");
        }
    }
}
