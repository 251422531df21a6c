//! The limits of connections and queries, and the statements of corrections.

use std::time::Duration;

use crate::sql::SqlFailure;

/// Maximum age of a connection, as in connection pools (HikariCP: 30 minutes), because a session keeps its initial
/// rights and server. A listener has none, because each new one causes a poll of everything.
pub(crate) const LIFE: Duration = Duration::from_mins(10);

/// The server's share of the time until the deadline, in percent. So the server cancels the query first, and the
/// connection stays usable.
const SERVERS_SHARE: u32 = 90;

/// Limits of one query.
#[derive(Clone, Copy, Debug)]
pub struct QueryOptions {
    /// The time until the deadline.
    pub timeout: Duration,
    /// Maximum bytes from the server.
    pub max_bytes: usize,
    /// Maximum rows. `None` for all.
    pub max_rows: Option<usize>,
}

impl QueryOptions {
    /// The time limit of the query on the server, at least a millisecond.
    pub(crate) fn servers_time(&self) -> Duration {
        (self.timeout * SERVERS_SHARE / 100).max(Duration::from_millis(1))
    }
}

/// The options of running statements.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// True if they run in one transaction.
    pub transaction: bool,
    /// The default time limit of a statement.
    pub timeout: Duration,
}

/// A statement to run. Its text is never shown, because it can contain secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct WriteStatement {
    /// The statement text.
    pub text: String,
    /// Its own time limit.
    pub timeout: Option<Duration>,
}

/// The failed statement and its cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct StatementFailure {
    /// The index of the statement. Equal to their number if all ran but were not committed.
    pub position: usize,
    /// The cause of the failure.
    pub failure: SqlFailure,
}
