//! The SQL dialect of a database server.

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
