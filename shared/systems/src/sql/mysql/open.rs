//! Opens a session: connects, logs in, and applies settings of our own.

use crate::guard::failure::SystemFailure;
use mysql_common::value::Value;

use crate::guard::dialling::DialRules;
use crate::guard::stream::in_time;
use crate::sql::mysql::client::Client;
use crate::sql::mysql::dial::dial;
use crate::sql::mysql::login::log_in;
use crate::sql::{ConnectionParameters, SqlFailure};

/// Settings of each connection. They override those of the server, and of its `init_connect`. Literals and the scanner
/// of statements rely on `sql_mode` and the character set. GROUP_CONCAT truncates silently at its limit.
const SETTINGS: &str = "SET NAMES utf8mb4, autocommit = 1, time_zone = '+00:00', \
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
) -> Result<(Client, bool), SqlFailure> {
    in_time(async {
        let mut client = Client::over(log_in(dial(parameters, rules).await?, parameters, name).await?);
        let is_mariadb = set_up(&mut client).await?;
        Ok((client, is_mariadb))
    })
    .await
}

/// Sets the connection up. Returns true if the server is MariaDB.
async fn set_up(client: &mut Client) -> Result<bool, SqlFailure> {
    let version = match client.query("SELECT @@version").await?.as_deref() {
        Some([Value::Bytes(version)]) => String::from_utf8_lossy(version).into_owned(),
        _ => String::new(),
    };
    let is_mariadb = version.contains("MariaDB");
    let mode = if is_mariadb || version.starts_with("5.") { NO_NEW_USERS } else { "" };
    client.query(&format!("{SETTINGS}{mode}'")).await?;
    match client.query(CHECK).await?.as_deref() {
        Some([Value::Bytes(length), Value::Bytes(text)]) if length == b"1" && text == b"a" => Ok(is_mariadb),
        _ => Err(SqlFailure::System(SystemFailure::Unreadable(OTHER_QUOTES))),
    }
}
