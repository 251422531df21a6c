//! One query in a read-only transaction.
//!
//! The server enforces it. The transaction ends with a rollback, so that not even a setting remains.

use std::fmt;

use bytes::BytesMut;
use futures::{StreamExt, pin_mut};
use serde_json::Value;
use tokio_postgres::Client;
use tokio_postgres::types::{Format, IsNull, ToSql, Type};

use crate::sql::postgres::rows::Statements;
use crate::sql::postgres::session::Session;
use crate::sql::{QueryOptions, SqlFailure};
use drift_language::SqlQuery;

/// Bytes that the server may send in addition to rows: column descriptions and settings.
const BESIDE_ROWS: usize = 64 * 1024;

/// Bytes sent for a parameter in addition to its value: its format and its length (PostgreSQL's protocol, Bind).
const BESIDE_PARAMETER: usize = 6;

/// Asks a query and passes on its rows.
pub(crate) async fn ask(
    session: &mut Session,
    query: &SqlQuery,
    options: &QueryOptions,
    take: &mut (dyn FnMut(Value) + Send),
) -> Result<(), SqlFailure> {
    session.allow(options.max_bytes.saturating_add(BESIDE_ROWS));
    let Session { client, line, statements, .. } = session;
    let asked = line.drive(in_transaction(client, statements, query, options, take)).await;
    if asked.is_err() {
        // A cached plan may be outdated.
        session.statements.clear();
    }
    asked
}

async fn in_transaction(
    client: &Client,
    statements: &mut Statements,
    query: &SqlQuery,
    options: &QueryOptions,
    take: &mut (dyn FnMut(Value) + Send),
) -> Result<(), SqlFailure> {
    let servers = options.servers_time().as_millis();
    let begin =
        format!("BEGIN TRANSACTION READ ONLY; SET LOCAL statement_timeout = {servers}; SET LOCAL row_security = off");
    client.batch_execute(&begin).await?;
    let asked = ask_within(client, statements, query, options, take).await;
    if asked.as_ref().err().is_none_or(|failure| !failure.is_loss()) {
        client.batch_execute("ROLLBACK").await?;
    }
    asked
}

async fn ask_within(
    client: &Client,
    statements: &mut Statements,
    query: &SqlQuery,
    options: &QueryOptions,
    take: &mut (dyn FnMut(Value) + Send),
) -> Result<(), SqlFailure> {
    let prepared = statements.prepare(client, &query.text, options.max_rows).await?;
    let values = query.parameters.iter().flatten().map(String::len).sum::<usize>();
    statements.allowance.request(values.saturating_add(query.parameters.len() * BESIDE_PARAMETER));
    let parameters = query.parameters.iter().map(|parameter| Text(parameter.as_deref()));
    let rows = client.query_raw(&prepared.statement, parameters.collect::<Vec<_>>()).await?;
    pin_mut!(rows);
    while let Some(row) = rows.next().await {
        take(prepared.json_of(&row?)?);
    }
    Ok(())
}

/// A parameter in text format, for any type that the server expects.
struct Text<'t>(Option<&'t str>);

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Text")
    }
}

type BoxedError = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Text<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        let Some(text) = self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        self.to_sql(kind, out)
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }
}
