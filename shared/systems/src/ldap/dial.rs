//! Opens the connection to a server: resolves its name, checks its addresses, and sets up TLS.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::failure::LdapFailure;
use super::messages::{message, start_tls};
use super::parameters::{DirectoryParameters, Protection};
use super::responses::{MAX_RESULT_BYTES, Response, read_message};
use crate::guard::dialling::DialRules;
use crate::guard::roots::{roots_of, system_roots};
use crate::guard::wire::Wire;

/// Timeout of DNS, TCP and TLS together, the same as for HTTP. It distinguishes an unreachable host from a slow one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Message ID of StartTLS, the first message of its connection.
const START_TLS_ID: u32 = 1;

/// Opens a connection that is ready for the bind.
pub(super) async fn dial(parameters: &DirectoryParameters, rules: &DialRules) -> Result<Box<dyn Wire>, LdapFailure> {
    let dialled = tokio::time::timeout(CONNECT_TIMEOUT, open(parameters, rules)).await;
    dialled.unwrap_or(Err(LdapFailure::Unreachable("connecting took too long")))
}

async fn open(parameters: &DirectoryParameters, rules: &DialRules) -> Result<Box<dyn Wire>, LdapFailure> {
    let mut stream = connect(parameters, rules).await?;
    stream.set_nodelay(true).map_err(|error| LdapFailure::of_io(&error))?;
    match parameters.protection {
        Protection::None => return Ok(Box::new(stream)),
        Protection::Tls => {}
        Protection::StartTls => ask_for_tls(&mut stream).await?,
    }
    Ok(Box::new(handshake(stream, parameters).await?))
}

async fn connect(parameters: &DirectoryParameters, rules: &DialRules) -> Result<TcpStream, LdapFailure> {
    let found = tokio::net::lookup_host((parameters.host.as_str(), parameters.port)).await;
    let found = found.map_err(|_| LdapFailure::Unreachable("the name cannot be resolved"))?;
    let allowed: Vec<_> = found.filter(|address| rules.allow(address.ip())).collect();
    if allowed.is_empty() {
        return Err(LdapFailure::AddressRefused { host: parameters.host_and_port() });
    }
    TcpStream::connect(allowed.as_slice()).await.map_err(|error| LdapFailure::of_io(&error))
}

/// Reads exactly one message: anything after it was not sent under TLS, and the handshake rejects it.
async fn ask_for_tls(stream: &mut TcpStream) -> Result<(), LdapFailure> {
    let request = message(START_TLS_ID, &start_tls());
    stream.write_all(&request).await.map_err(|error| LdapFailure::of_io(&error))?;
    let mut allowance = MAX_RESULT_BYTES;
    match Response::parse(&read_message(stream, &mut allowance).await?, START_TLS_ID)? {
        Response::Extended(code) if code.0 == 0 => Ok(()),
        _ => Err(LdapFailure::Unreachable("the server does not begin TLS")),
    }
}

async fn handshake(stream: TcpStream, parameters: &DirectoryParameters) -> Result<TlsStream<TcpStream>, LdapFailure> {
    let name = ServerName::try_from(parameters.host.clone())
        .map_err(|_| LdapFailure::Unreachable("the host is no name that a certificate could be for"))?;
    let connector = TlsConnector::from(Arc::new(configuration(parameters)?));
    connector.connect(name, stream).await.map_err(|error| LdapFailure::of_io(&error))
}

fn configuration(parameters: &DirectoryParameters) -> Result<ClientConfig, LdapFailure> {
    const NO_BUNDLE: &str = "the Secret's key ca.crt: not a PEM bundle of CA certificates";
    let roots = match &parameters.ca {
        Some(bundle) => {
            let roots = roots_of(bundle.expose_secret().as_bytes());
            Arc::new(roots.ok_or_else(|| LdapFailure::CredentialUnavailable(NO_BUNDLE.to_owned()))?)
        }
        None => system_roots(),
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| LdapFailure::Unreachable("TLS: the handshake failed"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
