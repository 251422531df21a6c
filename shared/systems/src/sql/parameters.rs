//! The connection parameters in a Secret: address, role, and protection.
//!
//! The keys are those of Secrets from PostgreSQL operators, and the same for MySQL. No value is ever shown.

use std::fmt;

use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use url::Url;

use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{Connection, Dialect};

use crate::guard::stream::host_and_port;

/// The properties of connection parameters that differ between the dialects.
struct Form {
    /// Default port, as assigned by IANA.
    port: u16,
    schemes: &'static [&'static str],
    /// The message about another scheme.
    wrong_scheme: &'static str,
}

const fn form_of(dialect: Dialect) -> Form {
    match dialect {
        Dialect::Postgres => Form {
            port: 5432,
            schemes: &["postgres", "postgresql"],
            wrong_scheme: "no connection URI: it begins with postgresql://",
        },
        Dialect::Mysql => Form {
            port: 3306,
            schemes: &["mysql", "mariadb"],
            wrong_scheme: "no connection URI: it begins with mysql://",
        },
    }
}

/// The protection of a connection, like libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SslMode {
    /// Neither encryption nor authentication.
    Disable,
    /// Encryption without authentication of the server.
    Require,
    /// Encryption, and a server certificate for this host from a trusted CA.
    VerifyFull,
}

/// The parameters of a connection: address, role, and protection.
#[derive(Clone)]
pub struct ConnectionParameters {
    pub(crate) dialect: Dialect,
    /// A name, an address, or the folder of PostgreSQL's unix socket, or the path of MySQL's.
    pub host: String,
    /// The server's port.
    pub port: u16,
    pub(crate) user: String,
    pub(crate) database: Option<String>,
    pub(crate) password: Option<SecretString>,
    pub(crate) ssl_mode: SslMode,
    is_of_uri: bool,
    /// Schemas searched after PostgreSQL's own, in this order.
    schemas: Vec<String>,
    /// CA certificates in PEM, instead of the system's.
    pub(crate) ca: Option<SecretString>,
}

/// The parameters as written, each optional.
#[derive(Default)]
struct Written {
    host: Option<String>,
    port: Option<String>,
    user: Option<String>,
    database: Option<String>,
    password: Option<SecretString>,
    ssl_mode: Option<String>,
}

impl ConnectionParameters {
    /// Reads the parameters from the Secret of the connection.
    ///
    /// # Errors
    /// Fails if the Secret is missing, incomplete, or may not be sent to the host that it names.
    pub fn of(connection: &Connection, secrets: &LabelledSecrets) -> Result<Self, CredentialError> {
        let (secret, dialect) = (connection.secret.as_str(), connection.dialect);
        let value = |key: &str| secrets.value(secret, key);
        let unusable = |key: &str, problem| CredentialError::unusable(secret, key, problem);
        let uri = value("uri")?;
        let is_of_uri = uri.is_some();
        let written = match uri {
            Some(uri) => of_uri(uri.expose_secret().trim(), dialect).map_err(|problem| unusable("uri", problem))?,
            None => {
                let text = |key: &str| secrets.line(secret, key);
                Written {
                    host: text("host")?,
                    port: text("port")?,
                    user: text("user")?.or(text("username")?),
                    database: match (text("dbname")?, dialect) {
                        (None, Dialect::Mysql) => text("database")?,
                        (database, _) => database,
                    },
                    password: text("password")?.map(SecretString::from),
                    ssl_mode: text("sslmode")?,
                }
            }
        };
        let host =
            written.host.filter(|host| !host.is_empty()).ok_or_else(|| CredentialError::no_key(secret, "host"))?;
        let user = written.user.ok_or_else(|| CredentialError::no_key(secret, "user"))?;
        let port = written.port.map_or(Ok(form_of(dialect).port), |port| port.parse::<u16>());
        let port = port.map_err(|_| unusable("port", "no port"))?;
        if host.contains(',') {
            return Err(unusable("host", "more than one host: name the one that always leads to the primary"));
        }
        let ca = value("ca.crt")?.cloned();
        let schemas = value("search_path")?.map(|schemas| schemas.expose_secret().trim()).unwrap_or_default();
        let schemas = schemas_of(schemas).map_err(|problem| unusable("search_path", problem))?;
        let is_local = host.starts_with('/');
        let ssl_mode = match written.ssl_mode.as_deref() {
            Some("disable") => SslMode::Disable,
            None if is_local => SslMode::Disable,
            Some("require") if ca.is_none() => SslMode::Require,
            Some("require") => {
                return Err(unusable(
                    "sslmode",
                    "require, beside ca.crt, by which it verifies nothing: write verify-full",
                ));
            }
            Some("verify-full") | None => SslMode::VerifyFull,
            Some(_) => return Err(unusable("sslmode", "none of disable, require, verify-full")),
        };
        if is_local && ssl_mode != SslMode::Disable {
            return Err(unusable("sslmode", "for a unix socket, which has no TLS: write disable"));
        }
        let (database, password) = (written.database, written.password);
        let parameters = Self { dialect, host, port, user, database, password, ssl_mode, is_of_uri, schemas, ca };
        secrets.check_host(secret, &parameters.host_and_port())?;
        Ok(parameters)
    }

    /// Returns the host and port, the key for limits, pauses and the allowed hosts of Secrets.
    #[must_use]
    pub fn host_and_port(&self) -> String {
        match self.host.as_str() {
            path if path.starts_with('/') && self.dialect == Dialect::Mysql => format!("unix:{path}"),
            folder if folder.starts_with('/') => format!("unix:{folder}/.s.PGSQL.{}", self.port),
            host => host_and_port(host, self.port),
        }
    }

    /// Returns the value for `SET search_path =`.
    ///
    /// PostgreSQL's own schema comes first, and temporary tables last. A user who can create objects in a searched
    /// schema could add an overload or an operator with a better match, which would run with our rights
    /// (CVE-2018-1058). So only schemas that the Secret names are searched. PostgreSQL searches `pg_catalog` first if
    /// it is not listed, and creates objects in the first listed schema.
    pub(crate) fn search_path(&self) -> String {
        if self.schemas.is_empty() {
            return "pg_catalog, pg_temp".to_owned();
        }
        let quoted = self.schemas.iter().map(|name| format!("\"{name}\", "));
        quoted.collect::<String>() + "pg_temp"
    }

    /// The schemas that a session needs. PostgreSQL skips missing schemas of its search path, so that names would refer
    /// to other tables. `$user` is meant to be skipped, and temporary tables have no schema before the first one.
    pub(crate) fn needed_schemas(&self) -> impl Iterator<Item = &str> {
        self.schemas.iter().map(String::as_str).filter(|name| !["$user", "pg_temp"].contains(name))
    }

    /// Returns true if no one in between can read the traffic, or impersonate the server and receive the password.
    pub(crate) fn is_safe(&self) -> bool {
        self.ssl_mode == SslMode::VerifyFull || self.host.starts_with('/') || drift_language::is_unread_host(&self.host)
    }

    /// The key that sets the protection.
    pub(crate) const fn ssl_mode_key(&self) -> &'static str {
        if self.is_of_uri { "uri" } else { "sslmode" }
    }

    /// Returns a hash of the parameters, to detect changes.
    pub(crate) fn hash(&self) -> [u8; 32] {
        let secret = |value: &Option<SecretString>| value.as_ref().map(|value| value.expose_secret().to_owned());
        let parts = [
            Some(self.host_and_port()),
            Some(self.user.clone()),
            self.database.clone(),
            secret(&self.password),
            secret(&self.ca),
            Some(format!("{:?}", self.ssl_mode)),
            Some(self.search_path()),
        ];
        let mut hash = Sha256::new();
        for part in parts {
            let part = part.unwrap_or_default();
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().into()
    }
}

/// Parses a comma-separated list of schemas.
fn schemas_of(list: &str) -> Result<Vec<String>, &'static str> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let names = list.split(',').map(str::trim).map(|name| {
        let is_name = !name.is_empty() && !name.contains(['"', '\0']);
        is_name.then(|| name.to_owned())
    });
    let names: Option<_> = names.collect();
    names.ok_or("no list of schemas: write their names with commas between, and without quotes")
}

/// Parses a connection URI as libpq does, with one host.
fn of_uri(text: &str, dialect: Dialect) -> Result<Written, &'static str> {
    let uri = Url::parse(text).map_err(|_| "no connection URI of one host")?;
    let form = form_of(dialect);
    if !form.schemes.contains(&uri.scheme()) {
        return Err(form.wrong_scheme);
    }
    let decoded =
        |text: &str| percent_decode_str(text).decode_utf8().map(|text| text.into_owned()).map_err(|_| "not UTF-8");
    let given = |text: &str| if text.is_empty() { Ok(None) } else { decoded(text).map(Some) };
    let mut written = Written {
        host: uri.host_str().map_or(Ok(None), given)?.map(|host| host.trim_matches(['[', ']']).to_owned()),
        port: uri.port().map(|port| port.to_string()),
        user: given(uri.username())?,
        password: uri.password().map_or(Ok(None), given)?.map(SecretString::from),
        database: given(uri.path().trim_start_matches('/'))?,
        ssl_mode: None,
    };
    for (name, value) in uri.query_pairs() {
        let value = Some(value.into_owned());
        match name.as_ref() {
            "host" => written.host = value,
            "port" => written.port = value,
            "user" => written.user = value,
            "dbname" => written.database = value,
            "password" => written.password = value.map(SecretString::from),
            "sslmode" => written.ssl_mode = value,
            "ssl-mode" if dialect == Dialect::Mysql => written.ssl_mode = value.as_deref().map(of_mysql_mode),
            // These parameters do not affect the server or the role.
            "application_name" | "connect_timeout" | "fallback_application_name" => {}
            _ => return Err("a connection URI with a parameter that is not known here"),
        }
    }
    Ok(written)
}

/// Converts a value of MySQL's `ssl-mode`. Those without a counterpart stay unknown.
fn of_mysql_mode(mode: &str) -> String {
    match mode {
        "DISABLED" => "disable",
        "REQUIRED" => "require",
        "VERIFY_IDENTITY" => "verify-full",
        other => other,
    }
    .to_owned()
}

impl fmt::Debug for ConnectionParameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConnectionParameters").field("host", &self.host_and_port()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use drift_api::secrets::labelled_secrets::LabelledSecret;

    fn connection(dialect: Dialect) -> Connection {
        Connection { dialect, secret: "s".to_owned() }
    }

    fn of(data: &[(&str, &str)]) -> Result<String, String> {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        let secrets: LabelledSecrets =
            [("s".to_owned(), LabelledSecret::new(Some("db,db.orders.svc,127.0.0.1,unix:/run/.s.PGSQL.5432"), data))]
                .into_iter()
                .collect();
        let parameters =
            ConnectionParameters::of(&connection(Dialect::Postgres), &secrets).map_err(|error| error.to_string())?;
        assert!(!format!("{parameters:?}").contains("canary"));
        let password = parameters.password.as_ref().map(|password| password.expose_secret().to_owned());
        assert_eq!(
            parameters.is_safe(),
            parameters.host.to_lowercase() != "db" || parameters.ssl_mode == SslMode::VerifyFull
        );
        Ok(format!(
            "{} {} {} {} {:?}",
            parameters.host_and_port(),
            parameters.user,
            parameters.database.as_deref().unwrap_or("-"),
            password.as_deref().unwrap_or("-"),
            parameters.ssl_mode
        ))
    }

    #[test]
    fn a_uri_or_its_parts_say_the_same() {
        let table: &[(&[(&str, &str)], &str)] = &[
            (&[("uri", "postgresql://u:p%40%3A@DB:6000/d?sslmode=require\n")], "db:6000 u d p@: Require"),
            (&[("uri", "postgres://u@db")], "db:5432 u - - VerifyFull"),
            (&[("uri", "postgres:///d?host=/run&user=u")], "unix:/run/.s.PGSQL.5432 u d - Disable"),
            (
                &[("host", "db"), ("user", "u"), ("password", "p\n"), ("dbname", "d"), ("sslmode", "disable")],
                "db:5432 u d p Disable",
            ),
            (&[("uri", "postgres://u@db.orders.svc?sslmode=disable")], "db.orders.svc:5432 u - - Disable"),
            (&[("host", "db"), ("user", "u"), ("database", "d")], "db:5432 u - - VerifyFull"),
            (&[("uri", "postgres://u@127.0.0.1?sslmode=disable")], "127.0.0.1:5432 u - - Disable"),
            (&[("host", "db"), ("username", "u"), ("port", "1"), ("ca.crt", "x")], "db:1 u - - VerifyFull"),
        ];
        for (data, expected) in table {
            assert_eq!(of(data).unwrap(), *expected);
        }
    }

    #[test]
    fn mysql_has_its_own_scheme_port_and_socket() {
        let of = |data: &[(&str, &str)]| {
            let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
            let secrets = [("s".to_owned(), LabelledSecret::new(None, data))].into_iter().collect();
            let parameters = ConnectionParameters::of(&connection(Dialect::Mysql), &secrets);
            parameters.map_err(|error| error.to_string()).map(|parameters| {
                let database = parameters.database.as_deref().unwrap_or("-").to_owned();
                format!("{} {database} {:?}", parameters.host_and_port(), parameters.ssl_mode)
            })
        };
        let table: &[(&[(&str, &str)], &str)] = &[
            (&[("uri", "mysql://u:p@DB/d?ssl-mode=REQUIRED")], "db:3306 d Require"),
            (&[("uri", "mariadb://u@db:1?ssl-mode=VERIFY_IDENTITY")], "db:1 - VerifyFull"),
            (&[("uri", "mysql://u@db.a.svc?sslmode=disable")], "db.a.svc:3306 - Disable"),
            (&[("host", "/run/mysqld.sock"), ("user", "u"), ("database", "d")], "unix:/run/mysqld.sock d Disable"),
        ];
        for (data, expected) in table {
            assert_eq!(of(data).as_deref(), Ok(*expected));
        }
        for (uri, problem) in [
            ("mysql://u@db?ssl-mode=PREFERRED", "none of disable, require, verify-full"),
            ("postgres://u@db", "no connection URI: it begins with mysql://"),
        ] {
            assert!(of(&[("uri", uri)]).unwrap_err().contains(problem), "{uri}");
        }
    }

    #[test]
    fn only_named_schemas_are_searched() {
        let table: &[(&str, &str, &[&str])] = &[
            ("", "pg_catalog, pg_temp", &[]),
            ("app, public", "\"app\", \"public\", pg_temp", &["app", "public"]),
            ("a; DROP", "\"a; DROP\", pg_temp", &["a; DROP"]),
            ("pg_temp, $user, app", "\"pg_temp\", \"$user\", \"app\", pg_temp", &["app"]),
        ];
        for (list, path, needed) in table {
            let data = [("host", "db"), ("user", "u"), ("search_path", list)];
            let data = data.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
            let secrets = [("s".to_owned(), LabelledSecret::new(None, data))].into_iter().collect();
            let parameters = ConnectionParameters::of(&connection(Dialect::Postgres), &secrets).unwrap();
            assert_eq!(parameters.search_path(), *path);
            assert!(parameters.needed_schemas().eq(needed.iter().copied()), "{list}");
        }
        for wrong in [",", "a,,b", "\"a\""] {
            assert!(schemas_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_connected_by_is_told_without_values() {
        let table: &[(&[(&str, &str)], &str)] = &[
            (&[("user", "canary")], "Secret s has no key host"),
            (&[("host", "db")], "Secret s has no key user"),
            (&[("host", "other"), ("user", "canary")], "Secret s may not be sent to other:5432"),
            (
                &[("host", "db,db2"), ("user", "u")],
                "Secret s key host is more than one host: name the one that always leads to the primary",
            ),
            (&[("host", "db"), ("user", "u"), ("port", "canary")], "Secret s key port is no port"),
            (
                &[("host", "db"), ("user", "u"), ("sslmode", "prefer")],
                "Secret s key sslmode is none of disable, require, verify-full",
            ),
            (&[("uri", "mysql://canary@db")], "Secret s key uri is no connection URI: it begins with postgresql://"),
            (&[("uri", "postgres://u@a:1,b:2/d")], "Secret s key uri is no connection URI of one host"),
            (
                &[("uri", "postgres://u@db?options=canary")],
                "Secret s key uri is a connection URI with a parameter that is not known here",
            ),
            (
                &[("host", "db"), ("user", "u"), ("search_path", "a; DROP, \"b")],
                "Secret s key search_path is no list of schemas: write their names with commas between, and without quotes",
            ),
            (
                &[("host", "db"), ("user", "u"), ("sslmode", "require"), ("ca.crt", "x")],
                "Secret s key sslmode is require, beside ca.crt, by which it verifies nothing: write verify-full",
            ),
        ];
        for (data, expected) in table {
            assert_eq!(of(data).unwrap_err(), *expected);
        }
    }
}
