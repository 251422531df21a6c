//! One connection to a database server of either dialect.

use serde_json::Value;

use drift_language::{Dialect, SqlQuery};

use crate::guard::dialling::DialRules;
use crate::guard::write_progress::WriteProgress;
use crate::sql::{ConnectionParameters, QueryOptions, RunOptions, SqlFailure, StatementFailure, WriteStatement};
use crate::sql::{mysql, postgres};

/// One database connection.
pub(super) enum Session {
    Postgres(Box<postgres::Session>),
    Mysql(Box<mysql::Session>),
}

impl Session {
    /// Connects and authenticates. The server's administrator sees `name`.
    pub(super) async fn open(
        parameters: &ConnectionParameters,
        rules: &DialRules,
        name: &str,
    ) -> Result<Self, SqlFailure> {
        Ok(match parameters.dialect {
            Dialect::Postgres => Self::Postgres(Box::new(postgres::Session::open(parameters, rules, name).await?)),
            Dialect::Mysql => Self::Mysql(Box::new(mysql::Session::open(parameters, rules, name).await?)),
        })
    }

    /// Returns true if the connection has ended.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Postgres(session) => session.line.has_ended(),
            Self::Mysql(session) => session.has_ended(),
        }
    }

    /// Returns true if another query or correction may use it.
    pub(super) fn is_reusable(&self, parameters: &ConnectionParameters) -> bool {
        match self {
            Self::Postgres(session) => session.is_reusable(parameters),
            Self::Mysql(session) => session.is_reusable(parameters),
        }
    }

    /// Returns true if it can be reset. MySQL has no reset that also ends a `SET ROLE` on every server, so each of its
    /// steps opens a connection.
    pub(super) const fn can_start_over(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Returns true if the server responds and has reset the state of earlier statements.
    pub(super) async fn starts_over(&mut self) -> bool {
        match self {
            Self::Postgres(session) => session.starts_over().await,
            Self::Mysql(_) => false,
        }
    }

    /// Asks a query and passes on its rows.
    pub(super) async fn ask(
        &mut self,
        query: &SqlQuery,
        options: &QueryOptions,
        take: &mut (dyn FnMut(Value) + Send),
    ) -> Result<(), SqlFailure> {
        match self {
            Self::Postgres(session) => postgres::ask(session, query, options, take).await,
            Self::Mysql(session) => session.ask(query, options, take).await,
        }
    }

    /// Runs statements in order.
    pub(super) async fn run(
        &mut self,
        statements: &[WriteStatement],
        options: RunOptions,
        progress: &WriteProgress,
    ) -> Result<(), StatementFailure> {
        match self {
            Self::Postgres(session) => postgres::run(session, statements, options, progress).await,
            Self::Mysql(session) => session.run(statements, options, progress).await,
        }
    }
}
