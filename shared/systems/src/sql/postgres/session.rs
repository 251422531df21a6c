//! One connection to one database, as one role.
//!
//! The user of the session drives it. There is no background task, so an unused connection costs nothing.

use crate::guard::failure::SystemFailure;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use secrecy::ExposeSecret;
use tokio::time::Instant;
use tokio_postgres::config::SslMode as Negotiation;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Notification, SimpleQueryMessage};

use crate::guard::clock::now;
use crate::guard::dialling::DialRules;
use crate::guard::stream::in_time;
use crate::sql::failure::CLOSED;
use crate::sql::parameters::ConnectionParameters;
use crate::sql::postgres::dial::dial;
use crate::sql::postgres::rows::Statements;
use crate::sql::postgres::wire::{Allowance, Capped};
use crate::sql::{LIFE, SqlFailure};

/// Maximum bytes from a server during the handshake. Its settings take a few KiB.
const GREETING_BYTES: usize = 256 * 1024;

/// Settings of each connection. They override those of the role and the database.
const SETTINGS: &str = "SET standard_conforming_strings = on; SET bytea_output = hex; SET DateStyle = 'ISO, YMD'; \
     SET IntervalStyle = iso_8601; SET TimeZone = 'UTC'; SET extra_float_digits = 1";

/// Resets the state that the statements of one object can leave behind: a role, settings, locks and tables of the
/// session. DISCARD ALL would also drop the prepared statements, which the client relies on.
const FORGET: &str = "CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ROLE; RESET ALL; UNLISTEN *; \
     SELECT pg_catalog.pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES";

/// The existing schemas of the search path that the role may use, one for each row.
const SCHEMAS: &str = "SELECT pg_catalog.unnest(pg_catalog.current_schemas(false))";

/// The traffic between a client and its server.
pub(crate) struct Line {
    pub(super) connection: Connection<Capped, NoTlsStream>,
    ended: bool,
}

/// One database connection.
pub(crate) struct Session {
    pub(super) client: Client,
    pub(crate) line: Line,
    pub(super) statements: Statements,
    pub(super) allowance: Allowance,
    /// Hash of its connection parameters.
    made_by: [u8; 32],
    opened: Instant,
    /// The statements at the start of every use.
    settings: String,
    /// Schemas whose absence would change the meaning of the search path.
    needed_schemas: Vec<String>,
}

impl Session {
    /// Connects and authenticates. The server's administrator sees `name`.
    pub(crate) async fn open(
        parameters: &ConnectionParameters,
        rules: &DialRules,
        name: &str,
    ) -> Result<Self, SqlFailure> {
        let allowance = Allowance::default();
        allowance.set(GREETING_BYTES);
        let wire = Capped { wire: in_time(dial(parameters, rules)).await?, allowance: allowance.clone() };
        let mut config = Config::new();
        // TLS is already set up if required.
        config.user(&parameters.user).application_name(name).ssl_mode(Negotiation::Disable);
        config.dbname(parameters.database.as_ref().unwrap_or(&parameters.user));
        if let Some(password) = &parameters.password {
            config.password(password.expose_secret());
        }
        let (client, connection) = config.connect_raw(wire, NoTls).await.map_err(of_start)?;
        let made_by = parameters.hash();
        let mut session = {
            let line = Line { connection, ended: false };
            let settings = format!("{SETTINGS}; SET search_path = {}", parameters.search_path());
            let needed_schemas = parameters.needed_schemas().map(str::to_owned).collect();
            let statements = Statements::over(allowance.clone());
            Self { client, line, statements, allowance, made_by, opened: now(), settings, needed_schemas }
        };
        let settings = session.settings.clone();
        session.set_up(settings).await?;
        Ok(session)
    }

    /// Returns true if it has these parameters, is not known to be closed, and the server has not sent too much.
    pub(super) fn serves(&self, parameters: &ConnectionParameters) -> bool {
        !self.line.has_ended() && !self.allowance.is_worn() && self.made_by == parameters.hash()
    }

    /// Returns true if another query or correction may use it.
    pub(crate) fn is_reusable(&self, parameters: &ConnectionParameters) -> bool {
        self.opened.elapsed() < LIFE && self.serves(parameters)
    }

    /// Returns true if the server responds and has reset the state of earlier statements.
    pub(crate) async fn starts_over(&mut self) -> bool {
        self.allow(GREETING_BYTES);
        self.set_up(format!("{FORGET}; {}", self.settings)).await.is_ok()
    }

    /// Runs the statements, and fails if a needed schema is missing. All in one request.
    async fn set_up(&mut self, mut statements: String) -> Result<(), SqlFailure> {
        if self.needed_schemas.is_empty() {
            return self.line.drive(async { Ok(self.client.batch_execute(&statements).await?) }).await;
        }
        statements.push_str("; ");
        statements.push_str(SCHEMAS);
        let answer = self.line.drive(async { Ok(self.client.simple_query(&statements).await?) }).await?;
        let is_there = |name: &str| {
            answer.iter().any(|message| match message {
                SimpleQueryMessage::Row(row) => row.try_get(0).is_ok_and(|found| found == Some(name)),
                _ => false,
            })
        };
        match self.needed_schemas.iter().find(|name| !is_there(name)) {
            Some(name) => Err(SqlFailure::System(SystemFailure::CredentialUnavailable(format!(
                "search_path names the schema {name}, which does not exist or which the role may not use"
            )))),
            None => Ok(()),
        }
    }

    /// Sets the allowance of bytes from the server.
    pub(super) fn allow(&self, bytes: usize) {
        self.allowance.set(bytes);
    }
}

/// Converts an error of the handshake. A server that requires a credential that we lack, or rejects it without a code,
/// asks for another way to log in.
fn of_start(error: tokio_postgres::Error) -> SqlFailure {
    let is_ours = error.code().is_none() && error.to_string().contains("authentication");
    if is_ours {
        return SqlFailure::LoginUnsupported("the server asks for another way to log in, or for a password");
    }
    error.into()
}

impl Line {
    /// Returns true if the connection has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the next notification. Other asynchronous messages are skipped.
    ///
    /// # Errors
    /// Returns the reason why the connection ended.
    pub(super) async fn next_notification(&mut self) -> Result<Notification, SqlFailure> {
        std::future::poll_fn(|context| self.poll_notification(context)).await
    }

    fn poll_notification(&mut self, context: &mut Context<'_>) -> Poll<Result<Notification, SqlFailure>> {
        loop {
            if self.ended {
                return Poll::Ready(Err(SqlFailure::System(SystemFailure::Unreachable(CLOSED))));
            }
            match ready!(self.connection.poll_message(context)) {
                Some(Ok(AsyncMessage::Notification(notification))) => return Poll::Ready(Ok(notification)),
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    self.ended = true;
                    return Poll::Ready(Err(error.into()));
                }
                None => self.ended = true,
            }
        }
    }

    /// Runs `work` on the connection. The reason why the connection ended takes precedence over the resulting
    /// error of `work`.
    pub(super) async fn drive<T>(
        &mut self,
        work: impl Future<Output = Result<T, SqlFailure>>,
    ) -> Result<T, SqlFailure> {
        let mut work = pin!(work);
        let mut end: Option<SqlFailure> = None;
        std::future::poll_fn(|context| {
            if !self.ended
                && let Poll::Ready(ended) = Pin::new(&mut self.connection).poll(context)
            {
                self.ended = true;
                end = ended.err().map(SqlFailure::from);
            }
            match work.as_mut().poll(context) {
                Poll::Pending if !self.ended => Poll::Pending,
                Poll::Ready(Ok(done)) => Poll::Ready(Ok(done)),
                Poll::Ready(Err(failure)) => Poll::Ready(Err(end.take().unwrap_or(failure))),
                Poll::Pending => {
                    Poll::Ready(Err(end.take().unwrap_or(SqlFailure::System(SystemFailure::Unreachable(CLOSED)))))
                }
            }
        })
        .await
    }
}
