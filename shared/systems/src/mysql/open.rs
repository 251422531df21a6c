//! Opens a connection: addresses that the guard allows, TLS according to the Secret, and settings of our own.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Row, SslOpts, from_row_opt};
use secrecy::ExposeSecret;

use crate::guard::dialling::DialRules;
use crate::guard::roots::{roots_of, system_certificates};
use crate::guard::stream::{in_time, resolve};
use crate::sql::failure::CLOSED;
use crate::sql::{ConnectionParameters, SqlFailure, SslMode};

/// Maximum bytes of one packet in either direction, the limit of the protocol without continuation.
const PACKET_BYTES: usize = 16 * 1024 * 1024 - 1;

/// Settings of each connection. They override those of the server, and of its `init_connect`. Literals and the scanner
/// of statements rely on `sql_mode` and the character set. GROUP_CONCAT truncates silently at its limit.
const SETTINGS: &str = "SET NAMES utf8mb4; SET SESSION autocommit = 1, time_zone = '+00:00', \
     group_concat_max_len = 16777216, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION";
/// A mode of MariaDB and of MySQL before 8.0: otherwise GRANT creates a missing account, without a password.
const NO_NEW_USERS: &str = ",NO_AUTO_CREATE_USER";

/// Returns 1 and `a` if backslashes escape, and double quotes are texts.
const CHECK: &str = r#"SELECT LENGTH('\\'), "a""#;

/// The message about a server that ignores the settings.
const OTHER_QUOTES: &str = "the server quotes texts in another way than sql_mode says";

/// Connects and authenticates. Returns true in addition if the server is MariaDB.
pub(super) async fn open(
    parameters: &ConnectionParameters,
    rules: &DialRules,
    name: &str,
) -> Result<(Conn, bool), SqlFailure> {
    in_time(connect(parameters, rules, name)).await
}

/// A connection that is closed at once. Within a runtime, the client would first read the rest of a pending response,
/// which may never end.
pub(super) struct Closing(pub(super) Option<Conn>);

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(conn) = self.0.take() {
            // Without a thread, the client closes it in its own way.
            let _ = std::thread::Builder::new().name("close".to_owned()).spawn(move || drop(conn));
        }
    }
}

async fn connect(parameters: &ConnectionParameters, rules: &DialRules, name: &str) -> Result<(Conn, bool), SqlFailure> {
    let mut closing = Closing(Some(Conn::new(options(parameters, rules, name).await?).await?));
    let is_mariadb = match &mut closing.0 {
        Some(conn) => prepare(conn).await?,
        None => false,
    };
    closing.0.take().map(|conn| (conn, is_mariadb)).ok_or(SqlFailure::Unreachable(CLOSED))
}

/// Sets the connection up. Returns true if the server is MariaDB.
async fn prepare(conn: &mut Conn) -> Result<bool, SqlFailure> {
    let version: Option<Row> = conn.query_first("SELECT @@version").await?;
    let version: String = version.and_then(|row| from_row_opt(row).ok()).unwrap_or_default();
    let is_mariadb = version.contains("MariaDB");
    let mode = if is_mariadb || version.starts_with("5.") { NO_NEW_USERS } else { "" };
    conn.query_drop(format!("{SETTINGS}{mode}'")).await?;
    let checked: Option<Row> = conn.query_first(CHECK).await?;
    match checked.and_then(|row| from_row_opt::<(u8, String)>(row).ok()) {
        Some((1, text)) if text == "a" => Ok(is_mariadb),
        _ => Err(SqlFailure::Unreadable(OTHER_QUOTES)),
    }
}

async fn options(parameters: &ConnectionParameters, rules: &DialRules, name: &str) -> Result<Opts, SqlFailure> {
    let builder = OptsBuilder::default()
        .user(Some(&parameters.user))
        .pass(parameters.password.as_ref().map(|password| password.expose_secret()))
        .db_name(parameters.database.as_ref())
        // Otherwise a server on loopback could send us to a socket of its choice.
        .prefer_socket(false)
        // Known values, so that the client does not ask for them.
        .max_allowed_packet(Some(PACKET_BYTES))
        .wait_timeout(Some(usize::MAX >> 1))
        .connect_attributes([("program_name".to_owned(), name.to_owned())].into());
    if parameters.host.starts_with('/') {
        return Ok(builder.socket(Some(&parameters.host)).into());
    }
    let addresses = resolve(&parameters.host, parameters.port, rules).await?;
    let addresses: Vec<_> = addresses.into_iter().map(|address| address.ip()).collect();
    let builder = builder
        .ip_or_hostname(parameters.host.trim_matches(['[', ']']))
        .tcp_port(parameters.port)
        .resolved_ips(Some(addresses))
        .ssl_opts(tls(parameters)?);
    Ok(builder.into())
}

fn tls(parameters: &ConnectionParameters) -> Result<Option<SslOpts>, SqlFailure> {
    let verified = SslOpts::default().with_disable_built_in_roots(true);
    Ok(match (parameters.ssl_mode, &parameters.ca) {
        (SslMode::Disable, _) => None,
        (SslMode::Require, _) => Some(SslOpts::default().with_danger_accept_invalid_certs(true)),
        (SslMode::VerifyFull, Some(bundle)) => {
            let bundle = bundle.expose_secret().as_bytes();
            roots_of(bundle).map_err(SqlFailure::no_bundle)?;
            Some(verified.with_root_certs(vec![bundle.to_vec().into()]))
        }
        (SslMode::VerifyFull, None) => {
            let certificates = system_certificates();
            Some(verified.with_root_certs(certificates.iter().map(|one| one.to_vec().into()).collect()))
        }
    })
}
