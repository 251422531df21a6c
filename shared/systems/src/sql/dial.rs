//! The parts of opening a connection that both dialects share: unix sockets, and TLS with the semantics of libpq's
//! `sslmode`.

use crate::guard::failure::SystemFailure;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};

use crate::guard::roots::tls_builder;
use crate::guard::stream::{Wire, trusting};
use crate::sql::parameters::{ConnectionParameters, SslMode};

/// The failure of a server without TLS, if the Secret asks for TLS.
pub(crate) const NO_TLS: SystemFailure =
    SystemFailure::Unreachable("the server has no TLS; sslmode disable connects without");

/// Opens a unix socket.
#[cfg(unix)]
pub(crate) async fn open_socket(path: &str) -> Result<Box<dyn Wire>, SystemFailure> {
    Ok(Box::new(tokio::net::UnixStream::connect(path).await?))
}

#[cfg(not(unix))]
#[expect(clippy::unused_async, reason = "the same signature on every platform")]
pub(crate) async fn open_socket(_path: &str) -> Result<Box<dyn Wire>, SystemFailure> {
    Err(SystemFailure::Unreachable("this platform has no unix sockets"))
}

/// Returns the TLS configuration of a connection.
pub(crate) fn tls_configuration(parameters: &ConnectionParameters) -> Result<ClientConfig, SystemFailure> {
    if parameters.ssl_mode != SslMode::Require {
        return trusting(parameters.ca.as_ref());
    }
    let builder = tls_builder().map_err(|_| SystemFailure::Unreachable("TLS: the handshake failed"))?;
    let anybody = Arc::new(Anybody(Arc::new(ring::default_provider())));
    Ok(builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth())
}

/// Accepts any certificate, as `sslmode=require` does. It protects against eavesdroppers, but not against an impostor
/// of the server.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
