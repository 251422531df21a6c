//! Opens the connection to a server: resolves its name, checks its addresses, and sets up TLS with the semantics of
//! libpq's `sslmode`.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::guard::dialling::DialRules;
use crate::guard::roots::tls_builder;
use crate::guard::stream::{DialError, Wire, connect, handshake, trusting};
use crate::sql::parameters::{ConnectionParameters, SslMode};

/// PostgreSQL's SSLRequest: the length of the message and the number 80877103.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// Response of a server that supports TLS.
const WILLING: u8 = b'S';

/// Opens a connection that is ready for the protocol.
pub(super) async fn dial(parameters: &ConnectionParameters, rules: &DialRules) -> Result<Box<dyn Wire>, DialError> {
    if let Some(path) = parameters.host_and_port().strip_prefix("unix:") {
        return open_socket(path).await;
    }
    let mut stream = connect(&parameters.host, parameters.port, rules).await?;
    if parameters.ssl_mode == SslMode::Disable {
        return Ok(Box::new(stream));
    }
    stream.write_all(&SSL_REQUEST).await?;
    // Exactly one byte: anything after it was not sent under TLS.
    if stream.read_u8().await? != WILLING {
        return Err(DialError::Unreachable("the server has no TLS; sslmode disable connects without"));
    }
    Ok(Box::new(handshake(stream, &parameters.host, configuration(parameters)?).await?))
}

#[cfg(unix)]
async fn open_socket(path: &str) -> Result<Box<dyn Wire>, DialError> {
    Ok(Box::new(tokio::net::UnixStream::connect(path).await?))
}

#[cfg(not(unix))]
#[expect(clippy::unused_async, reason = "the same signature on every platform")]
async fn open_socket(_path: &str) -> Result<Box<dyn Wire>, DialError> {
    Err(DialError::Unreachable("this platform has no unix sockets"))
}

fn configuration(parameters: &ConnectionParameters) -> Result<ClientConfig, DialError> {
    if parameters.ssl_mode != SslMode::Require {
        return trusting(parameters.ca.as_ref());
    }
    let builder = tls_builder().map_err(|_| DialError::Unreachable("TLS: the handshake failed"))?;
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
