//! Opens the connection to a server: resolves its name, checks its addresses, and sets up TLS.

use crate::guard::failure::SystemFailure;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::guard::dialling::DialRules;
use crate::guard::stream::{Wire, connect, handshake};
use crate::sql::dial::{NO_TLS, open_socket, tls_configuration};
use crate::sql::parameters::{ConnectionParameters, SslMode};

/// PostgreSQL's SSLRequest: the length of the message and the number 80877103.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// Response of a server that supports TLS.
const WILLING: u8 = b'S';

/// Opens a connection that is ready for the protocol.
pub(super) async fn dial(parameters: &ConnectionParameters, rules: &DialRules) -> Result<Box<dyn Wire>, SystemFailure> {
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
        return Err(NO_TLS);
    }
    Ok(Box::new(handshake(stream, &parameters.host, tls_configuration(parameters)?).await?))
}
