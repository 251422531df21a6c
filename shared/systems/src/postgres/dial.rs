//! Opens the connection to a server: resolves its name, checks its addresses, and sets up TLS according to the Secret.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::guard::dialling::DialRules;
use crate::guard::wire::Wire;
use crate::postgres::tls;
use crate::sql::CONNECT_TIMEOUT;
use crate::sql::SqlFailure;
use crate::sql::parameters::{ConnectionParameters, SslMode};
use crate::sql::resolve;

/// PostgreSQL's SSLRequest: the length of the message and the number 80877103.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// Response of a server that supports TLS.
const WILLING: u8 = b'S';

/// Opens a connection that is ready for the protocol.
pub(super) async fn dial(parameters: &ConnectionParameters, rules: &DialRules) -> Result<Box<dyn Wire>, SqlFailure> {
    let dialled = tokio::time::timeout(CONNECT_TIMEOUT, open(parameters, rules)).await;
    dialled.unwrap_or(Err(SqlFailure::Unreachable("connecting took too long")))
}

async fn open(parameters: &ConnectionParameters, rules: &DialRules) -> Result<Box<dyn Wire>, SqlFailure> {
    let failed = |error: std::io::Error| SqlFailure::of_io(&error);
    let target = parameters.host_and_port();
    if let Some(path) = target.strip_prefix("unix:") {
        return open_socket(path).await;
    }
    let mut stream = connect(parameters, rules).await?;
    stream.set_nodelay(true).map_err(failed)?;
    if parameters.ssl_mode == SslMode::Disable {
        return Ok(Box::new(stream));
    }
    stream.write_all(&SSL_REQUEST).await.map_err(failed)?;
    // Exactly one byte: anything after it was not sent under TLS.
    if stream.read_u8().await.map_err(failed)? != WILLING {
        return Err(SqlFailure::Unreachable("the server has no TLS; sslmode disable connects without"));
    }
    Ok(Box::new(tls::handshake(stream, parameters).await?))
}

#[cfg(unix)]
async fn open_socket(path: &str) -> Result<Box<dyn Wire>, SqlFailure> {
    let socket = tokio::net::UnixStream::connect(path).await;
    Ok(Box::new(socket.map_err(|error| SqlFailure::of_io(&error))?))
}

#[cfg(not(unix))]
#[expect(clippy::unused_async, reason = "the same signature on every platform")]
async fn open_socket(_path: &str) -> Result<Box<dyn Wire>, SqlFailure> {
    Err(SqlFailure::Unreachable("this platform has no unix sockets"))
}

async fn connect(parameters: &ConnectionParameters, rules: &DialRules) -> Result<TcpStream, SqlFailure> {
    let allowed = resolve(parameters, rules).await?;
    TcpStream::connect(allowed.as_slice()).await.map_err(|error| SqlFailure::of_io(&error))
}
