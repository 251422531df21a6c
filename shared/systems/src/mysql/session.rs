//! One connection to a MySQL server, as one account.

use std::time::Duration;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params, Value as Parameter};
use serde_json::Value;
use tokio::time::Instant;

use drift_api::requests::sql_query::SqlQuery;

use crate::guard::clock::now;
use crate::guard::dialling::DialRules;
use crate::mysql::open::{Closing, open};
use crate::mysql::value::{Columns, bytes_of};
use crate::sql::failure::{CLOSED, TOO_LARGE};
use crate::sql::{ConnectionParameters, LIFE, QueryOptions, RunOptions, SqlFailure, StatementFailure, WriteStatement};

/// The value of `sql_select_limit` without a limit. Its default is the server's, which could cut a result off.
const NO_LIMIT: u64 = u64::MAX;

/// One database connection.
pub(crate) struct Session {
    /// `None` after its end.
    conn: Option<Conn>,
    is_mariadb: bool,
    /// True while a response is pending.
    is_busy: bool,
    /// Hash of its connection parameters.
    made_by: [u8; 32],
    opened: Instant,
}

impl Session {
    /// Connects and authenticates. The server's administrator sees `name`.
    pub(crate) async fn open(
        parameters: &ConnectionParameters,
        rules: &DialRules,
        name: &str,
    ) -> Result<Self, SqlFailure> {
        let (conn, is_mariadb) = open(parameters, rules, name).await?;
        let made_by = parameters.hash();
        Ok(Self { conn: Some(conn), is_mariadb, is_busy: false, made_by, opened: now() })
    }

    /// Returns true if the connection has ended, or a response is still pending.
    pub(crate) fn has_ended(&self) -> bool {
        self.conn.is_none() || self.is_busy
    }

    /// Returns true if another query may use it.
    pub(crate) fn is_reusable(&self, parameters: &ConnectionParameters) -> bool {
        !self.has_ended() && self.opened.elapsed() < LIFE && self.made_by == parameters.hash()
    }

    /// Asks a query in a read-only transaction, and passes on its rows.
    pub(crate) async fn ask(
        &mut self,
        query: &SqlQuery,
        options: &QueryOptions,
        take: &mut (dyn FnMut(Value) + Send),
    ) -> Result<(), SqlFailure> {
        let begin = begin(self.is_mariadb, options);
        let Some(conn) = &mut self.conn else { return Err(SqlFailure::Unreachable(CLOSED)) };
        self.is_busy = true;
        let asked = async {
            conn.query_drop(begin).await?;
            ask_within(conn, query, options, take).await
        }
        .await;
        if let Err(SqlFailure::Answered(..)) | Ok(()) = asked {
            conn.query_drop("ROLLBACK").await?;
            self.is_busy = false;
        }
        asked
    }

    /// Runs statements in order. Each is prepared, so that the server takes exactly one.
    pub(crate) async fn run(
        &mut self,
        statements: &[WriteStatement],
        options: RunOptions,
    ) -> Result<(), StatementFailure> {
        self.is_busy = true;
        let mut position = 0;
        let (is_mariadb, conn) = (self.is_mariadb, &mut self.conn);
        let running = async {
            let conn = conn.as_mut().ok_or(SqlFailure::Unreachable(CLOSED))?;
            for WriteStatement { text, timeout } in statements {
                conn.query_drop(limits(is_mariadb, timeout.unwrap_or(options.timeout))).await?;
                conn.exec_drop(text.as_str(), ()).await?;
                position += 1;
            }
            Ok(())
        };
        let done: Result<(), SqlFailure> = running.await;
        self.is_busy = matches!(&done, Err(failure) if !matches!(failure, SqlFailure::Answered(..)));
        done.map_err(|failure| StatementFailure { position, failure })
    }
}

async fn ask_within(
    conn: &mut Conn,
    query: &SqlQuery,
    options: &QueryOptions,
    take: &mut (dyn FnMut(Value) + Send),
) -> Result<(), SqlFailure> {
    let parameters = query.parameters.iter().map(|text| text.as_deref().map_or(Parameter::NULL, Parameter::from));
    let parameters: Vec<_> = parameters.collect();
    let parameters = if parameters.is_empty() { Params::Empty } else { Params::Positional(parameters) };
    let mut rows = conn.exec_iter(query.text.as_ref(), parameters).await?;
    let columns = Columns::of(rows.columns_ref()).map_err(SqlFailure::Unreadable)?;
    let (mut count, mut left) = (0, options.max_bytes);
    while let Some(row) = rows.next().await? {
        let values = row.unwrap();
        left = left.checked_sub(bytes_of(&values)).ok_or(SqlFailure::Unreadable(TOO_LARGE))?;
        count += 1;
        if options.max_rows.is_none_or(|most| count <= most) {
            take(columns.json_of(values).map_err(SqlFailure::Unreadable)?);
        }
    }
    Ok(())
}

/// Returns the statements that begin a read. `sql_select_limit` counts for the query itself, not inside it.
fn begin(is_mariadb: bool, options: &QueryOptions) -> String {
    let most = options.max_rows.map_or(NO_LIMIT, |rows| rows as u64);
    let limits = limits(is_mariadb, options.servers_time());
    format!("{limits}, sql_select_limit = {most}; START TRANSACTION READ ONLY")
}

/// Returns the setting of the server's time limits. MySQL limits only a SELECT, so a wait for a lock has its own, in
/// whole seconds.
fn limits(is_mariadb: bool, time: Duration) -> String {
    let locks = time.as_secs().max(1);
    let statement = if is_mariadb {
        format!("max_statement_time = {}", time.as_secs_f64())
    } else {
        format!("max_execution_time = {}", time.as_millis().max(1))
    };
    format!("SET SESSION {statement}, lock_wait_timeout = {locks}, innodb_lock_wait_timeout = {locks}")
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_busy {
            drop(Closing(self.conn.take()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_of_all_rows_has_no_limit() {
        let options = QueryOptions { max_rows: None, max_bytes: 1, timeout: Duration::from_secs(5) };
        let begun = begin(true, &options);
        assert!(begun.contains("sql_select_limit = 18446744073709551615;"), "{begun}");
        let one = begin(true, &QueryOptions { max_rows: Some(1), ..options });
        assert!(one.contains("sql_select_limit = 1;"), "{one}");
    }
}
