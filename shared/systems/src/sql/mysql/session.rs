//! One connection to a MySQL server, as one account.

use crate::guard::failure::SystemFailure;
use std::sync::Arc;
use std::time::Duration;

use mysql_common::value::Value as Parameter;
use serde_json::Value;
use tokio::time::Instant;

use drift_language::SqlQuery;

use crate::guard::allowance::Allowance;
use crate::guard::clock::now;
use crate::guard::dialling::DialRules;
use crate::guard::write_progress::WriteProgress;
use crate::sql::failure::TOO_LARGE;
use crate::sql::mysql::client::{ANSWER_BYTES, Answer, Client, Next, UNUSED_BYTES};
use crate::sql::mysql::open::open;
use crate::sql::mysql::value::{Columns, bytes_of};
use crate::sql::value::NO_COLUMNS;
use crate::sql::{ConnectionParameters, LIFE, QueryOptions, RunOptions, SqlFailure, StatementFailure, WriteStatement};

/// The value of `sql_select_limit` without a limit. Its default is the server's, which could cut a result off.
const NO_LIMIT: u64 = u64::MAX;

/// Begins a read.
const BEGIN: &str = "START TRANSACTION READ ONLY";

/// Maximum bytes of a row beside its values: the lengths and the NULL bits of 4,096 columns.
const BESIDE_VALUES: usize = 64 * 1024;

/// One database connection.
pub(crate) struct Session {
    client: Client,
    is_mariadb: bool,
    /// True while an answer is pending, and after one that was not read to its end.
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
        let (client, is_mariadb) = open(parameters, rules, name).await?;
        let made_by = parameters.hash();
        Ok(Self { client, is_mariadb, is_busy: false, made_by, opened: now() })
    }

    /// Returns true if the connection has ended, or an answer is still pending.
    pub(crate) const fn has_ended(&self) -> bool {
        self.is_busy
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
        self.is_busy = true;
        let asked = self.ask_within(query, options, take).await;
        if let Err(SqlFailure::Answered(..)) | Ok(()) = asked {
            self.client.query("ROLLBACK").await?;
            self.is_busy = false;
        }
        asked
    }

    async fn ask_within(
        &mut self,
        query: &SqlQuery,
        options: &QueryOptions,
        take: &mut (dyn FnMut(Value) + Send),
    ) -> Result<(), SqlFailure> {
        self.client.query(&read_limits(self.is_mariadb, options)).await?;
        self.client.query(BEGIN).await?;
        let parameters = query.parameters.iter().map(|text| text.as_deref().map_or(Parameter::NULL, Parameter::from));
        let parameters: Vec<_> = parameters.collect();
        let Answer::Columns(columns) = self.client.execute(&query.text, &parameters).await? else {
            return Err(SqlFailure::System(SystemFailure::Unreadable(NO_COLUMNS)));
        };
        let columns = Columns::of(columns).map_err(SystemFailure::Unreadable)?;
        let (mut count, mut left) = (0, Allowance::of(options.max_bytes, TOO_LARGE));
        loop {
            let mut packet = Allowance::of(left.left().saturating_add(BESIDE_VALUES), TOO_LARGE);
            let row = match self.client.next(&mut packet).await? {
                Next::Row(row) => columns.values_of(&row)?,
                Next::End { has_more } => return self.client.discard(has_more, &mut ANSWER_BYTES.clone()).await,
            };
            left.take(bytes_of(&row)).map_err(SystemFailure::Unreadable)?;
            count += 1;
            if options.max_rows.is_none_or(|most| count <= most) {
                take(columns.json_of(row).map_err(SystemFailure::Unreadable)?);
            }
        }
    }

    /// Runs statements in order. Each is prepared, so that the server takes exactly one.
    pub(crate) async fn run(
        &mut self,
        statements: &[WriteStatement],
        options: RunOptions,
        progress: &WriteProgress,
    ) -> Result<(), StatementFailure> {
        self.is_busy = true;
        for (position, WriteStatement { text, timeout }) in statements.iter().enumerate() {
            let ran = self.run_one(text.as_str().into(), timeout.unwrap_or(options.timeout), progress).await;
            if let Err(failure) = ran {
                self.is_busy = !matches!(failure, SqlFailure::Answered(..));
                return Err(StatementFailure { position, failure });
            }
        }
        self.is_busy = false;
        Ok(())
    }

    async fn run_one(&mut self, text: Arc<str>, timeout: Duration, progress: &WriteProgress) -> Result<(), SqlFailure> {
        self.client.query(&limits(self.is_mariadb, timeout)).await?;
        let mut allowance = UNUSED_BYTES;
        progress.begin();
        let has_more = match self.client.execute(&text, &[]).await? {
            Answer::Done { has_more } => has_more,
            Answer::Columns(_) => self.client.discard_rows(&mut allowance).await?,
        };
        self.client.discard(has_more, &mut allowance).await
    }
}

/// Returns the setting of the limits of a read. `sql_select_limit` counts for the query itself, not inside it.
fn read_limits(is_mariadb: bool, options: &QueryOptions) -> String {
    let most = options.max_rows.map_or(NO_LIMIT, |rows| rows as u64);
    format!("{}, sql_select_limit = {most}", limits(is_mariadb, options.servers_time()))
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
        if !self.is_busy {
            self.client.quit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_of_all_rows_has_no_limit() {
        let options = QueryOptions { max_rows: None, max_bytes: 1, timeout: Duration::from_secs(5) };
        let all = read_limits(true, &options);
        assert!(all.ends_with("sql_select_limit = 18446744073709551615"), "{all}");
        let one = read_limits(true, &QueryOptions { max_rows: Some(1), ..options });
        assert!(one.ends_with("sql_select_limit = 1"), "{one}");
    }
}
