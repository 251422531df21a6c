//! Opens streams to servers of databases and directories, through the address guard, and with TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::guard::dialling::DialRules;
use crate::guard::failure::SystemFailure;
use crate::guard::roots::{roots_of, system_roots, tls_builder};

/// Timeout of DNS, TCP and TLS together. Half of the default deadline of a poll (10 s), so that an unreachable host is
/// distinguished from a slow one.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// An open byte stream: TCP, a unix socket, or TLS over either.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// Returns the host and port, the key for limits, pauses and the allowed hosts of Secrets.
pub(crate) fn host_and_port(host: &str, port: u16) -> String {
    match host.trim_matches(['[', ']']) {
        address if address.contains(':') => format!("[{address}]:{port}"),
        name => format!("{}:{port}", name.to_lowercase()),
    }
}

/// Opens a connection within the timeout.
pub(crate) async fn in_time<T, E: From<SystemFailure>>(opening: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let opened = tokio::time::timeout(CONNECT_TIMEOUT, opening).await;
    opened.unwrap_or_else(|_| Err(SystemFailure::Unreachable("connecting took too long").into()))
}

/// Resolves the server's name, and returns the allowed addresses: at least one.
pub(crate) async fn resolve(host: &str, port: u16, rules: &DialRules) -> Result<Vec<SocketAddr>, SystemFailure> {
    let found = tokio::net::lookup_host((host.trim_matches(['[', ']']), port)).await;
    let found = found.map_err(|_| SystemFailure::Unreachable("the name cannot be resolved"))?;
    let allowed: Vec<_> = found.filter(|address| rules.allow(address.ip())).collect();
    if allowed.is_empty() {
        return Err(SystemFailure::AddressRefused { host: host_and_port(host, port) });
    }
    Ok(allowed)
}

/// Connects to an allowed address of the server.
pub(crate) async fn connect(host: &str, port: u16, rules: &DialRules) -> Result<TcpStream, SystemFailure> {
    let stream = TcpStream::connect(resolve(host, port, rules).await?.as_slice()).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Starts TLS on a connection.
pub(crate) async fn handshake(
    stream: TcpStream,
    host: &str,
    configuration: ClientConfig,
) -> Result<TlsStream<TcpStream>, SystemFailure> {
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
        .map_err(|_| SystemFailure::Unreachable("the host is no name that a certificate could be for"))?;
    Ok(TlsConnector::from(Arc::new(configuration)).connect(name, stream).await?)
}

/// Returns a configuration that trusts the CA certificates of this PEM bundle, or else the system's.
pub(crate) fn trusting(ca: Option<&SecretString>) -> Result<ClientConfig, SystemFailure> {
    let roots = match ca {
        Some(bundle) => Arc::new(roots_of(bundle.expose_secret().as_bytes())?),
        None => system_roots(),
    };
    let builder = tls_builder().map_err(|_| SystemFailure::Unreachable("TLS: the handshake failed"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
