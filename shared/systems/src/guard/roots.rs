//! The trusted certificate authorities: the system's, or those of a bundle.
//!
//! The system's are in the files that `SSL_CERT_FILE` or `SSL_CERT_DIR` name, otherwise in the usual places of a CA
//! bundle, which distroless images have too.

use std::sync::{Arc, OnceLock};

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Returns the system's certificate authorities, for a client that takes no others. Read once they can be.
pub(crate) fn system_certificates() -> &'static [CertificateDer<'static>] {
    static CERTIFICATES: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
    if let Some(certificates) = CERTIFICATES.get() {
        return certificates;
    }
    let usable = |certificate: &CertificateDer<'static>| RootCertStore::empty().add(certificate.clone()).is_ok();
    let loaded = rustls_native_certs::load_native_certs();
    let certificates: Vec<_> = loaded.certs.into_iter().filter(usable).collect();
    if certificates.is_empty() {
        tracing::warn!("the system has no certificate authorities that can be read: {:?}", loaded.errors);
        return &[];
    }
    CERTIFICATES.get_or_init(|| certificates)
}

/// Returns the system's roots. Read once: they take a megabyte, and only change with the image. Without roots no server
/// is trusted, the log reports it, and the next connection tries again.
pub(crate) fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(roots) = ROOTS.get() {
        return roots.clone();
    }
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(loaded.certs);
    if roots.is_empty() {
        tracing::warn!("the system has no certificate authorities that can be read: {:?}", loaded.errors);
        return Arc::new(roots);
    }
    ROOTS.get_or_init(|| Arc::new(roots)).clone()
}

/// Parses a PEM bundle. `None` if it has no certificate, or an invalid one.
pub(crate) fn roots_of(bundle: &[u8]) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        roots.add(certificate.ok()?).ok()?;
    }
    (!roots.is_empty()).then_some(roots)
}
