//! Opens the connection to a server: its name looked up, its addresses judged, TLS as the Secret says.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use crate::guard::dialling::DialRules;
use crate::guard::wire::Wire;
use crate::postgres::SqlFailure;
use crate::postgres::parameters::{ConnectionParameters, SslMode};
use crate::postgres::tls;

/// Longest wait for DNS, TCP and TLS together, as of HTTP: so an unreachable host is told apart from a slow one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// PostgreSQL's SSLRequest: the length of the message and the number 80877103.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// Answer of a server that supports TLS.
const WILLING: u8 = b'S';

/// A connection over which the protocol may begin.
pub(super) async fn dial(parameters: &ConnectionParameters, rules: &DialRules) -> Result<Box<dyn Wire>, SqlFailure> {
    let dialled = tokio::time::timeout(CONNECT_TIMEOUT, open(parameters, rules)).await;
    dialled.unwrap_or(Err(SqlFailure::Unreachable("connecting took too long")))
}

async fn open(parameters: &ConnectionParameters, rules: &DialRules) -> Result<Box<dyn Wire>, SqlFailure> {
    let failed = |error: std::io::Error| SqlFailure::of_io(&error);
    let target = parameters.host_and_port();
    if let Some(path) = target.strip_prefix("unix:") {
        return Ok(Box::new(UnixStream::connect(path).await.map_err(failed)?));
    }
    let mut stream = connect(parameters, rules).await?;
    stream.set_nodelay(true).map_err(failed)?;
    if parameters.ssl_mode == SslMode::Disable {
        return Ok(Box::new(stream));
    }
    stream.write_all(&SSL_REQUEST).await.map_err(failed)?;
    // One byte and no more: whatever came behind it was not sent under TLS.
    if stream.read_u8().await.map_err(failed)? != WILLING {
        return Err(SqlFailure::Unreachable("the server has no TLS; sslmode disable connects without"));
    }
    Ok(Box::new(tls::handshake(stream, parameters).await?))
}

async fn connect(parameters: &ConnectionParameters, rules: &DialRules) -> Result<TcpStream, SqlFailure> {
    let host = parameters.host.trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((host, parameters.port)).await;
    let found: Vec<_> = found.map_err(|_| SqlFailure::Unreachable("the name cannot be resolved"))?.collect();
    let allowed: Vec<_> = found.into_iter().filter(|address| rules.allow(address.ip())).collect();
    if allowed.is_empty() {
        return Err(SqlFailure::AddressRefused { host: parameters.host_and_port() });
    }
    TcpStream::connect(allowed.as_slice()).await.map_err(|error| SqlFailure::of_io(&error))
}
