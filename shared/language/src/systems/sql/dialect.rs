//! The SQL dialect of a database server.

use serde_json::Value;

use crate::systems::sql::{mysql, postgres};

/// The kind of a database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MySQL and the servers that speak its protocol, such as MariaDB, Aurora and TiDB.
    Mysql,
}

impl Dialect {
    /// Its key in the document.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }

    /// The keys of the actions that create or change a resource, with that of its section.
    pub(super) const fn sending_actions(self) -> [&'static str; 3] {
        match self {
            Self::Postgres => ["postgres.create", "postgres.update", "postgres.replace"],
            Self::Mysql => ["mysql.create", "mysql.update", "mysql.replace"],
        }
    }

    /// Returns a quoted name.
    pub(super) fn ident(self, name: &Value) -> Result<String, &'static str> {
        match self {
            Self::Postgres => postgres::literal::ident(name),
            Self::Mysql => mysql::literal::ident(name),
        }
    }

    /// Returns quoted names, separated by commas.
    pub(super) fn idents(self, names: &Value) -> Result<String, &'static str> {
        match self {
            Self::Postgres => postgres::literal::idents(names),
            Self::Mysql => mysql::literal::idents(names),
        }
    }

    /// Returns a value as the literal of a statement.
    pub(super) fn literal(self, value: &Value) -> Result<String, &'static str> {
        match self {
            Self::Postgres => postgres::literal::literal(value),
            Self::Mysql => mysql::literal::literal(value),
        }
    }

    /// Returns a value as a parameter, with the marker of the parameter of this number, which counts from 1.
    pub(super) fn parameter(self, value: &Value, number: usize) -> Result<(Option<String>, String), &'static str> {
        Ok(match self {
            Self::Postgres => (postgres::literal::text(value)?, format!("${number}")),
            Self::Mysql => (mysql::literal::text(value)?, mysql::literal::marker(value).to_owned()),
        })
    }

    /// The first words of statements that would change how the next ones run: only the controller sends them.
    pub(super) const fn own_words(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => {
                &["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare"]
            }
            Self::Mysql => &["begin", "start", "commit", "rollback", "savepoint", "release", "xa", "lock", "use"],
        }
    }
}
