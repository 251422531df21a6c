//! Rows of a query as JSON. A wrapping query makes the server return each value as text.
//!
//! The column types are looked up once for each query.

use crate::guard::failure::SystemFailure;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row, Statement};

use crate::sql::SqlFailure;
use crate::sql::postgres::value::json_of;
use crate::sql::postgres::wire::Allowance;
use crate::sql::value::{check_columns, row_allowance};

/// Maximum prepared queries of one connection. A target has one, and another for each variation of its text.
const KEPT_STATEMENTS: usize = 64;

/// The prepared queries of a connection.
pub(super) struct Statements {
    pub(super) allowance: Allowance,
    known: HashMap<(Arc<str>, Option<usize>), Arc<Prepared>>,
}

/// A query that wraps the target's.
pub(super) struct Prepared {
    pub(super) statement: Statement,
    columns: Vec<(String, Type)>,
}

impl Statements {
    pub(super) fn over(allowance: Allowance) -> Self {
        Self { allowance, known: HashMap::new() }
    }

    /// Forgets all queries, because their types may have changed.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// Prepares the wrapping query, with a maximum number of rows.
    pub(super) async fn prepare(
        &mut self,
        client: &Client,
        query: &Arc<str>,
        max_rows: Option<usize>,
    ) -> Result<Arc<Prepared>, SqlFailure> {
        let key = (query.clone(), max_rows);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        self.allowance.request(query.len());
        let written = client.prepare(query).await?;
        let columns = written.columns().iter().map(|column| (column.name().to_owned(), column.type_().clone()));
        let columns: Vec<(String, Type)> = columns.collect();
        check_columns(columns.iter().map(|(name, _)| name.as_str())).map_err(SystemFailure::Unreadable)?;
        let around = around(query, &columns, max_rows);
        self.allowance.request(around.len());
        let statement = client.prepare(&around).await?;
        if self.known.len() >= KEPT_STATEMENTS {
            self.known.clear();
        }
        let prepared = Arc::new(Prepared { statement, columns });
        self.known.insert(key, prepared.clone());
        Ok(prepared)
    }
}

/// Returns the wrapping query. The inner query has its own lines, because it may end in a comment.
fn around(query: &str, columns: &[(String, Type)], max_rows: Option<usize>) -> String {
    let text = |(position, (_, kind)): (usize, &(String, Type))| match *kind {
        // The text cast always adds the netmask, unlike PostgreSQL's output.
        Type::INET => format!("pg_catalog.abbrev(r.c{position})"),
        _ => format!("r.c{position}::pg_catalog.text"),
    };
    let texts: Vec<String> = columns.iter().enumerate().map(text).collect();
    let names: Vec<String> = (0..columns.len()).map(|position| format!("c{position}")).collect();
    let limit = max_rows.map(|rows| format!(" LIMIT {rows}")).unwrap_or_default();
    format!("SELECT {} FROM (\n{query}\n) AS r ({}){limit}", texts.join(", "), names.join(", "))
}

impl Prepared {
    /// Converts one row to JSON, with columns by name.
    pub(super) fn json_of(&self, row: &Row) -> Result<Value, SqlFailure> {
        let mut allowance = row_allowance();
        let mut fields = Map::new();
        for (position, (name, kind)) in self.columns.iter().enumerate() {
            let text: Option<&str> = row.try_get(position)?;
            fields.insert(name.clone(), json_of(kind, text, &mut allowance).map_err(SystemFailure::Unreadable)?);
        }
        Ok(Value::Object(fields))
    }
}
