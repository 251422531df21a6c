//! The database connections, one for each target and Secret.
//!
//! A connection has one user at a time, and is opened on first use.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{Connection, Network, SqlQuery};

use crate::guard::clock::now;
use crate::guard::dialling::DialRules;
use crate::guard::write_progress::WriteProgress;
use crate::sql::databases::session::Session;
use crate::sql::postgres;
use crate::sql::postgres::Listener;
use crate::sql::{ConnectionParameters, QueryOptions, RunOptions, SqlFailure, StatementFailure, WriteStatement};

/// Minimum time between two sessions of one target that end with a denial. A role without a right costs at most one
/// connection in that time.
const BETWEEN_DENIALS: Duration = Duration::from_secs(10);

/// The connection of one target and Secret.
#[derive(Default)]
struct Slot {
    session: Option<Session>,
    /// The time at which a denial last ended a session.
    denied: Option<Instant>,
}

/// The name of a target, and that of its Secret.
type SlotKey = (String, String);

/// The connections of all targets. Clones are cheap and share them.
#[derive(Clone)]
pub struct Databases {
    secrets: Arc<ArcSwap<LabelledSecrets>>,
    program: &'static str,
    slots: Arc<Mutex<HashMap<SlotKey, Arc<tokio::sync::Mutex<Slot>>>>>,
}

/// Exclusive use of a target's connection.
pub struct ConnectionPlace {
    slot: OwnedMutexGuard<Slot>,
}

impl ConnectionPlace {
    /// Keeps the connection for the next use, unless the failure ended it.
    fn keep(&mut self, session: Session, failure: Option<&SqlFailure>) {
        if session.has_ended() || failure.is_some_and(|failure| self.ends_session(failure)) {
            return;
        }
        self.slot.session = Some(session);
    }

    /// Returns true if the next use needs a new connection. This includes denials, because the role may have been
    /// dropped and created again: a session of the old role never gets the rights of the new one.
    fn ends_session(&mut self, failure: &SqlFailure) -> bool {
        if !failure.is_denial() {
            return failure.is_loss();
        }
        let is_first = self.slot.denied.is_none_or(|denied| denied.elapsed() > BETWEEN_DENIALS);
        if is_first {
            self.slot.denied = Some(now());
        }
        is_first
    }
}

impl Databases {
    /// Creates the store. The watch keeps the Secrets up to date. `program` (such as `drift-poller`) is its name
    /// at the servers.
    #[must_use]
    pub fn new(secrets: Arc<ArcSwap<LabelledSecrets>>, program: &'static str) -> Self {
        Self { secrets, program, slots: Arc::default() }
    }

    /// Returns true if the Secrets have been listed.
    #[must_use]
    pub fn knows_secrets(&self) -> bool {
        self.secrets.load().are_listed()
    }

    /// Returns the parameters of a connection. `insecure` permits an unencrypted one.
    ///
    /// # Errors
    /// Fails if the Secret is missing or has no valid parameters.
    pub fn parameters(&self, connection: &Connection, insecure: bool) -> Result<ConnectionParameters, CredentialError> {
        let parameters = ConnectionParameters::of(connection, &self.secrets.load())?;
        if insecure || parameters.is_safe() {
            return Ok(parameters);
        }
        let problem = "sslmode is require or disable, for a host that is neither loopback nor a cluster Service: \
                       write verify-full, or insecure: true in the target";
        Err(CredentialError::unusable(&connection.secret, parameters.ssl_mode_key(), problem))
    }

    /// Waits for exclusive use of the target's connection with this Secret.
    pub async fn enter(&self, target: &str, secret: &str) -> ConnectionPlace {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry((target.to_owned(), secret.to_owned())).or_default().clone()
        };
        ConnectionPlace { slot: slot.lock_owned().await }
    }

    /// Closes the target's connections after their current use.
    pub fn forget(&self, target: &str) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _), _| of != target);
    }

    /// Passes on the rows of a query. If a reused connection is lost before the first row, the query is retried once on
    /// a new one.
    ///
    /// # Errors
    /// Fails if the result is missing or incomplete.
    pub async fn query(
        &self,
        place: &mut ConnectionPlace,
        way: Way<'_>,
        query: &SqlQuery,
        options: &QueryOptions,
        take: &mut (dyn FnMut(Value) + Send),
    ) -> Result<(), SqlFailure> {
        let reused = place.slot.session.take().filter(|session| session.is_reusable(way.parameters));
        if let Some(session) = reused {
            let mut has_rows = false;
            let mut take = |row| {
                has_rows = true;
                take(row);
            };
            match ask_over(place, session, query, options, &mut take).await {
                Err(failure) if failure.is_loss() && !has_rows => {}
                answer => return answer,
            }
        }
        let session = open(way, self.program).await?;
        ask_over(place, session, query, options, take).await
    }

    /// Runs statements. Nothing is ever run twice: a reused connection is reset before the first statement, which also
    /// proves that it is alive. `progress` records if a statement was sent.
    ///
    /// # Errors
    /// Returns the first failed statement and its failure.
    pub async fn run(
        &self,
        place: &mut ConnectionPlace,
        way: Way<'_>,
        statements: &[WriteStatement],
        options: RunOptions,
        progress: &WriteProgress,
    ) -> Result<(), StatementFailure> {
        let reused = place.slot.session.take().filter(|session| session.is_reusable(way.parameters));
        let alive = match reused {
            Some(mut session) => session.starts_over().await.then_some(session),
            None => None,
        };
        let mut session = match alive {
            Some(session) => session,
            None => open(way, self.program).await.map_err(|failure| StatementFailure { position: 0, failure })?,
        };
        let done = session.run(statements, options, progress).await;
        if !session.can_start_over() {
            return done;
        }
        place.keep(session, done.as_ref().err().map(|ended| &ended.failure));
        done
    }

    /// Listens to a channel, over a connection of its own.
    ///
    /// # Errors
    /// Fails if the connection cannot be opened, or the server refuses.
    pub async fn listen(&self, way: Way<'_>, channel: &str) -> Result<Listener, SqlFailure> {
        // The name explains this idle session to administrators of the server.
        let name = format!("{} hints", self.program);
        let session = postgres::Session::open(way.parameters, &rules_of(way), &name).await?;
        Listener::begin(session, channel).await
    }
}

async fn open(way: Way<'_>, name: &str) -> Result<Session, SqlFailure> {
    Session::open(way.parameters, &rules_of(way), name).await
}

fn rules_of(way: Way<'_>) -> DialRules {
    DialRules { has_chosen_host: false, allowed: way.allow_networks.to_vec() }
}

/// Asks a query with the connection taken out of its place, so that a cancelled query leaves no connection with
/// a pending response.
async fn ask_over(
    place: &mut ConnectionPlace,
    mut session: Session,
    query: &SqlQuery,
    options: &QueryOptions,
    take: &mut (dyn FnMut(Value) + Send),
) -> Result<(), SqlFailure> {
    let answer = session.ask(query, options, take).await;
    place.keep(session, answer.as_ref().err());
    answer
}

/// Access to a server.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// The address and the role.
    pub parameters: &'a ConnectionParameters,
    /// Networks that may be dialled although the address guard would reject them.
    pub allow_networks: &'a [Network],
}

impl fmt::Debug for Databases {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Databases").field("program", &self.program).finish_non_exhaustive()
    }
}

impl fmt::Debug for ConnectionPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConnectionPlace").field("is_open", &self.slot.session.is_some()).finish()
    }
}
