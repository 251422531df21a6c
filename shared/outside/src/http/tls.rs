//! One HTTP client per way of connecting: bounded, without redirects and proxies, reusing connections.
//!
//! Without a private CA the roots are the system's: the files that `SSL_CERT_FILE` or `SSL_CERT_DIR` name, else the
//! usual places of a CA bundle, which a distroless image has too. A private CA replaces them. This file must not know
//! targets or Secrets; it gets the bundle as bytes.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, Identity, redirect};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
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

/// What clients are built from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Material<'a> {
    pub(super) roots: Roots<'a>,
    /// Our certificate with those that vouch for it, and its key, both in PEM.
    pub(super) identity: Option<(&'a SecretString, &'a SecretString)>,
}

/// How connections are opened.
pub(super) struct Way {
    pub(super) names: Arc<GuardedResolver>,
    pub(super) socket: Option<Arc<str>>,
    pub(super) program: &'static str,
}

/// Why there are no clients. Closed texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClientError {
    /// Not one certificate in the bundle, or one that cannot be read.
    #[error("not a PEM bundle of CA certificates")]
    Bundle,
    /// Our certificate or its key cannot be read, or they do not belong together.
    #[error("not a certificate in PEM and its key")]
    Certificate,
    /// The client itself cannot be built.
    #[error("the HTTP client cannot be built")]
    Build,
}

impl Material<'_> {
    /// Tells whether clients were built from the same.
    pub(super) fn hash(&self) -> [u8; 32] {
        let roots = if let Roots::Only(bundle) = self.roots { bundle } else { &[] };
        let (chain, key) = self.identity.map_or(("", ""), |(chain, key)| (chain.expose_secret(), key.expose_secret()));
        let mut hash = Sha256::new();
        for part in [roots, chain.as_bytes(), key.as_bytes()] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        hash.finalize().into()
    }

    /// Our certificate as the client takes it.
    fn identity(&self) -> Result<Option<Identity>, ClientError> {
        let Some((chain, key)) = self.identity else { return Ok(None) };
        let both = SecretString::from(format!("{}\n{}", key.expose_secret(), chain.expose_secret()));
        let identity = Identity::from_pem(both.expose_secret().as_bytes()).map_err(|_| ClientError::Certificate)?;
        Ok(Some(identity))
    }
}

impl Clients {
    pub(super) fn build(material: Material<'_>, way: &Way) -> Result<Arc<Self>, ClientError> {
        // Every main installs the provider first; only tests come here without one, and a second attempt is ignored.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let reusing = build(material, || guarded(way).pool_max_idle_per_host(crate::HOST_CONCURRENCY))?;
        let fresh = build(material, || guarded(way).pool_max_idle_per_host(0))?;
        Ok(Arc::new(Self { reusing, fresh }))
    }
}

fn build(material: Material<'_>, builder: impl Fn() -> ClientBuilder) -> Result<Client, ClientError> {
    let Some(identity) = material.identity()? else { return trusting(material.roots, builder) };
    // Only together with the roots is it known which of both cannot be used.
    trusting(material.roots, &builder)?;
    trusting(material.roots, || builder().identity(identity.clone())).map_err(|_| ClientError::Certificate)
}

fn trusting(roots: Roots<'_>, builder: impl Fn() -> ClientBuilder) -> Result<Client, ClientError> {
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
fn guarded(way: &Way) -> ClientBuilder {
    let builder = Client::builder()
        // Not starting with "Mozilla": some ingresses answer browsers with a log-in page instead of 401.
        .user_agent(format!("{}/{}", way.program, env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .dns_resolver(way.names.clone())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .http2_keep_alive_interval(ALIVE_INTERVAL)
        .http2_keep_alive_timeout(ALIVE_TIMEOUT)
        .connector_layer(MapResponseLayer::new(opened::note));
    match &way.socket {
        Some(path) => builder.unix_socket(path.as_ref()),
        None => builder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialling::DialRules;
    use crate::http::resolver::SystemResolver;

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        for bundle in ["", "canary", "-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----\n"] {
            let material = Material { roots: Roots::Only(bundle.as_bytes()), identity: None };
            let names = GuardedResolver { names: Arc::new(SystemResolver), rules: DialRules::default() };
            let way = Way { names: Arc::new(names), socket: None, program: "test" };
            let error = Clients::build(material, &way).map(|_| ()).err();
            assert_eq!(error, Some(ClientError::Bundle), "{bundle}");
        }
    }
}
