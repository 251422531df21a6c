//! TLS to a server, with the semantics of libpq's `sslmode`.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use secrecy::ExposeSecret;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::guard::roots::{roots_of, system_roots};
use crate::sql::SqlFailure;
use crate::sql::parameters::{ConnectionParameters, SslMode};

/// The message about an invalid CA bundle.
const NO_BUNDLE: &str = "the connection's Secret, key ca.crt: not a PEM bundle of CA certificates";

/// Starts TLS on a connection.
pub(super) async fn handshake(
    stream: TcpStream,
    parameters: &ConnectionParameters,
) -> Result<TlsStream<TcpStream>, SqlFailure> {
    let name = ServerName::try_from(parameters.host.trim_matches(['[', ']']).to_owned())
        .map_err(|_| SqlFailure::Unreachable("the host is no name that a certificate could be for"))?;
    let connector = TlsConnector::from(Arc::new(configuration(parameters)?));
    connector.connect(name, stream).await.map_err(|error| SqlFailure::of_io(&error))
}

fn configuration(parameters: &ConnectionParameters) -> Result<ClientConfig, SqlFailure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|_| SqlFailure::Unreachable("TLS: the handshake failed"))?;
    if parameters.ssl_mode == SslMode::Require {
        let anybody = Arc::new(Anybody(provider));
        return Ok(builder.dangerous().with_custom_certificate_verifier(anybody).with_no_client_auth());
    }
    let roots = match &parameters.ca {
        Some(bundle) => {
            let roots = roots_of(bundle.expose_secret().as_bytes());
            Arc::new(roots.ok_or_else(|| SqlFailure::CredentialUnavailable(NO_BUNDLE.to_owned()))?)
        }
        None => system_roots(),
    };
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
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
