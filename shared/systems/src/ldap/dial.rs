//! Opens the connection to a server: resolves its name, checks its addresses, and sets up TLS.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::failure::LdapFailure;
use super::messages::{message, start_tls};
use super::parameters::{DirectoryParameters, Protection};
use super::responses::{MAX_RESULT_BYTES, Response, read_message};
use crate::guard::dialling::DialRules;
use crate::guard::stream::{Wire, connect, handshake, trusting};

/// Message ID of StartTLS, the first message of its connection.
const START_TLS_ID: u32 = 1;

/// Opens a connection that is ready for the bind.
pub(super) async fn dial(parameters: &DirectoryParameters, rules: &DialRules) -> Result<Box<dyn Wire>, LdapFailure> {
    let mut stream = connect(&parameters.host, parameters.port, rules).await?;
    match parameters.protection {
        Protection::None => return Ok(Box::new(stream)),
        Protection::Tls => {}
        Protection::StartTls => ask_for_tls(&mut stream).await?,
    }
    Ok(Box::new(handshake(stream, &parameters.host, trusting(parameters.ca.as_ref())?).await?))
}

/// Reads exactly one message: anything after it was not sent under TLS, and the handshake rejects it.
async fn ask_for_tls(stream: &mut TcpStream) -> Result<(), LdapFailure> {
    stream.write_all(&message(START_TLS_ID, &start_tls())).await?;
    let mut allowance = MAX_RESULT_BYTES;
    match Response::parse(&read_message(stream, &mut allowance).await?, START_TLS_ID)? {
        Response::Extended(code) if code.0 == 0 => Ok(()),
        _ => Err(LdapFailure::Unreachable("the server does not begin TLS")),
    }
}
