//! The trusted certificate authorities: the system's, or those of a bundle.
//!
//! A program can add some to the system's, such as that of a proxy that inspects TLS. The system's are in the files that `SSL_CERT_FILE` or `SSL_CERT_DIR` name, otherwise in the usual places of a CA
//! bundle, which distroless images have too.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

/// The bundle has no certificate, or an invalid one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a PEM bundle of CA certificates")]
pub struct NoBundle;

/// The certificates of `--ca-bundle`.
static ADDED: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();

/// Adds the certificates of a PEM bundle to the system's, for the whole process. Only the first call counts, and it must
/// come before the first connection.
///
/// # Errors
/// Fails if the bundle has no certificate, or an invalid one.
pub fn add_to_system_roots(bundle: &[u8]) -> Result<(), NoBundle> {
    roots_of(bundle)?;
    let certificates = CertificateDer::pem_slice_iter(bundle).collect::<Result<_, _>>().map_err(|_| NoBundle)?;
    // An error means that another call was first.
    let _ = ADDED.set(certificates);
    Ok(())
}

/// Returns the system's roots. Read once: they take a megabyte, and only change with the image. Without roots no server
/// is trusted, the log reports it, and the next connection tries again.
pub(crate) fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if ROOTS.get().is_none()
        && let Some(certificates) = load()
    {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates);
        return ROOTS.get_or_init(|| Arc::new(roots)).clone();
    }
    ROOTS.get().cloned().unwrap_or_else(|| Arc::new(RootCertStore::empty()))
}

/// Reads the system's certificates. `None` if none of them is usable.
fn load() -> Option<Vec<CertificateDer<'static>>> {
    let usable = |certificate: &CertificateDer<'static>| RootCertStore::empty().add(certificate.clone()).is_ok();
    let loaded = rustls_native_certs::load_native_certs();
    let added = ADDED.get().into_iter().flatten().cloned();
    let certificates: Vec<_> = loaded.certs.into_iter().filter(usable).chain(added).collect();
    if certificates.is_empty() {
        let causes = &loaded.errors;
        tracing::warn!(?causes, "the system has no certificate authorities that can be read");
        return None;
    }
    Some(certificates)
}

/// Parses a PEM bundle.
pub(crate) fn roots_of(bundle: &[u8]) -> Result<RootCertStore, NoBundle> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        roots.add(certificate.map_err(|_| NoBundle)?).map_err(|_| NoBundle)?;
    }
    if roots.is_empty() { Err(NoBundle) } else { Ok(roots) }
}

/// Returns the beginning of a TLS configuration.
pub(crate) fn tls_builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}
