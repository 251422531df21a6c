//! The trusted roots of a client, and its own certificate.
//!
//! Without a private CA, the system's roots are used. A private CA replaces them.

use std::sync::Arc;

use http::HeaderValue;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::guard::roots::{NoBundle, roots_of, system_roots, tls_builder};

/// ALPN protocols in order of preference (RFC 7301).
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The trusted roots.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) enum Roots<'a> {
    /// No roots: for plain HTTP, which does not need the megabyte of the system's.
    Nobody,
    /// The system's roots.
    System,
    /// Only those of this PEM bundle.
    Only(&'a [u8]),
}

/// The material that clients are built from.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Material<'a> {
    pub(in crate::http) roots: Roots<'a>,
    /// Our certificate chain and its key, both in PEM.
    pub(in crate::http) identity: Option<(&'a SecretString, &'a SecretString)>,
    /// The credential for the proxy.
    pub(in crate::http) proxy: Option<&'a HeaderValue>,
}

/// A hash of the material from Secrets. `None` without any.
pub(in crate::http) type MaterialHash = Option<[u8; 32]>;

/// Reasons for a failed build. Fixed texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::http) enum ClientError {
    /// The bundle has no certificate, or an invalid one.
    #[error("{0}")]
    Bundle(#[from] NoBundle),
    /// Our certificate or its key is invalid, or they do not match.
    #[error("not a certificate in PEM and its key")]
    Certificate,
    /// The client itself cannot be built.
    #[error("the HTTP client cannot be built")]
    Build,
}

impl Material<'_> {
    /// Returns a hash of the material, to detect changes.
    pub(in crate::http) fn hash(&self) -> MaterialHash {
        let roots = if let Roots::Only(bundle) = self.roots { bundle } else { &[] };
        if roots.is_empty() && self.identity.is_none() && self.proxy.is_none() {
            return None;
        }
        let (chain, key) = self.identity.map_or(("", ""), |(chain, key)| (chain.expose_secret(), key.expose_secret()));
        let mut hash = Sha256::new();
        let proxy = self.proxy.map(HeaderValue::as_bytes).unwrap_or_default();
        for part in [roots, chain.as_bytes(), key.as_bytes(), proxy] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        Some(hash.finalize().into())
    }
}

/// Returns the TLS configuration.
pub(in crate::http) fn configuration(material: Material<'_>) -> Result<ClientConfig, ClientError> {
    let roots = match material.roots {
        Roots::Nobody => Arc::new(RootCertStore::empty()),
        Roots::System => system_roots(),
        Roots::Only(bundle) => Arc::new(roots_of(bundle)?),
    };
    let builder = tls_builder().map_err(|_| ClientError::Build)?.with_root_certificates(roots);
    let mut configuration = match material.identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let (chain, key) = (chain_of(chain)?, key_of(key)?);
            builder.with_client_auth_cert(chain, key).map_err(|_| ClientError::Certificate)?
        }
    };
    configuration.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(configuration)
}

fn chain_of(pem: &SecretString) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.expose_secret().as_bytes()).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or(ClientError::Certificate)
}

fn key_of(pem: &SecretString) -> Result<PrivateKeyDer<'static>, ClientError> {
    PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes()).map_err(|_| ClientError::Certificate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        for bundle in ["", "canary", "-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----\n"] {
            let material = Material { roots: Roots::Only(bundle.as_bytes()), identity: None, proxy: None };
            assert_eq!(configuration(material).map(drop), Err(ClientError::Bundle(NoBundle)), "{bundle}");
        }
    }
}
