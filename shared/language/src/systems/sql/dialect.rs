//! The SQL dialects, and their rules.

use serde_json::Value;

use crate::systems::sql::{mysql, postgres};

/// The kind of a database server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MySQL and the servers that speak its protocol, such as MariaDB.
    Mysql,
}

impl Dialect {
    /// Its key in a target.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }
}

/// The rules of a dialect.
pub(super) trait DialectRules: Copy {
    /// Returns a quoted name.
    fn ident(self, name: &Value) -> Result<String, &'static str>;

    /// Returns quoted names, separated by commas.
    fn idents(self, names: &Value) -> Result<String, &'static str>;

    /// Returns a value as the literal of a statement.
    fn literal(self, value: &Value) -> Result<String, &'static str>;

    /// Returns a value as a parameter, with the marker of the parameter of this number, which counts from 1.
    fn parameter(self, value: &Value, number: usize) -> Result<(Option<String>, String), &'static str>;

    /// The first words of statements that would change how the next ones run: only the controller sends them.
    fn own_words(self) -> &'static [&'static str];
}

impl DialectRules for Dialect {
    fn ident(self, name: &Value) -> Result<String, &'static str> {
        match self {
            Self::Postgres => postgres::literal::ident(name),
            Self::Mysql => mysql::literal::ident(name),
        }
    }

    fn idents(self, names: &Value) -> Result<String, &'static str> {
        match self {
            Self::Postgres => postgres::literal::idents(names),
            Self::Mysql => mysql::literal::idents(names),
        }
    }

    fn literal(self, value: &Value) -> Result<String, &'static str> {
        match self {
            Self::Postgres => postgres::literal::literal(value),
            Self::Mysql => mysql::literal::literal(value),
        }
    }

    fn parameter(self, value: &Value, number: usize) -> Result<(Option<String>, String), &'static str> {
        Ok(match self {
            Self::Postgres => (postgres::literal::text(value)?, format!("${number}")),
            Self::Mysql => (mysql::literal::text(value)?, mysql::literal::marker(value).to_owned()),
        })
    }

    fn own_words(self) -> &'static [&'static str] {
        match self {
            Self::Postgres => {
                &["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare"]
            }
            Self::Mysql => &["begin", "start", "commit", "rollback", "savepoint", "release", "xa", "lock", "use"],
        }
    }
}
