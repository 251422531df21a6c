//! The connections of all targets, one for each.
//!
//! A connection is used by one at a time, and opened when it is first needed. What it was used for last is its target's
//! business; how it is used is not this file's.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use drift_api::requests::sql_query::SqlQuery;
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{Connection, Network};

use crate::guard::clock::now;
use crate::guard::dialling::DialRules;
use crate::postgres::SqlFailure;
use crate::postgres::listener::Listener;
use crate::postgres::parameters::ConnectionParameters;
use crate::postgres::read_query::{QueryOptions, ask};
use crate::postgres::session::Session;
use crate::postgres::write_statements::{self, RunOptions, StatementFailure, WriteStatement};

/// Shortest time between two sessions of one target that a denial ends: a role that simply lacks a right costs no more than
/// one connection in that time.
const BETWEEN_DENIALS: Duration = Duration::from_secs(10);

/// The connection of one target.
#[derive(Default)]
struct Slot {
    session: Option<Session>,
    /// The time at which a denial last ended a session.
    denied: Option<Instant>,
}

/// The connections of all targets. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct Databases {
    secrets: Arc<ArcSwap<LabelledSecrets>>,
    program: &'static str,
    slots: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<Slot>>>>>,
}

/// A target's connection, for as long as nobody else may use it.
pub struct ConnectionPlace {
    slot: OwnedMutexGuard<Slot>,
}

impl ConnectionPlace {
    /// Keeps the connection for the next use, unless this one's failure ends it.
    fn keep(&mut self, session: Session, failure: Option<&SqlFailure>) {
        if session.line.has_ended() || failure.is_some_and(|failure| self.ends_session(failure)) {
            return;
        }
        self.slot.session = Some(session);
    }

    /// Returns true if the next use needs a new connection. After a denial it does, because the role may have been dropped
    /// and made again: a session of the old role never gets the rights of the new one.
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
    /// Over the Secrets as the watch keeps them; `program` (such as `drift-poller`) names us at the servers.
    #[must_use]
    pub fn new(secrets: Arc<ArcSwap<LabelledSecrets>>, program: &'static str) -> Self {
        Self { secrets, program, slots: Arc::default() }
    }

    /// Returns true if it can be judged by now whether a Secret is there.
    #[must_use]
    pub fn knows_secrets(&self) -> bool {
        self.secrets.load().are_listed()
    }

    /// Returns the parameters of a connection. `insecure` permits an unencrypted one.
    ///
    /// # Errors
    /// Fails if it is missing, or says nothing that may be connected by.
    pub fn parameters(&self, connection: &Connection, insecure: bool) -> Result<ConnectionParameters, CredentialError> {
        let parameters = ConnectionParameters::of(&connection.secret, &self.secrets.load())?;
        if insecure || parameters.is_safe() {
            return Ok(parameters);
        }
        let problem = "sslmode is require or disable, for a host that is neither loopback nor a cluster Service: \
                       write verify-full, or insecure: true in the target";
        Err(CredentialError::unusable(&connection.secret, parameters.ssl_mode_key(), problem))
    }

    /// Waits until nobody else uses the target's connection.
    pub async fn enter(&self, target: &str) -> ConnectionPlace {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry(target.to_owned()).or_default().clone()
        };
        ConnectionPlace { slot: slot.lock_owned().await }
    }

    /// Closes the target's connection, once nobody uses it.
    pub fn forget(&self, target: &str) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(target);
    }

    /// Hands over the rows of a query. One that a reused connection lost before any row is asked once more over a new one.
    ///
    /// # Errors
    /// Fails if there is no result, or not all of it.
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

    /// Runs statements. Nothing is ever run twice: a reused connection starts over before the first, which shows besides that
    /// it lives.
    ///
    /// # Errors
    /// Where they came to an end before the last, and why.
    pub async fn run(
        &self,
        place: &mut ConnectionPlace,
        way: Way<'_>,
        statements: &[WriteStatement],
        options: RunOptions,
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
        let done = write_statements::run(&mut session, statements, options).await;
        place.keep(session, done.as_ref().err().map(|ended| &ended.failure));
        done
    }

    /// Listens to a channel, over a connection of its own.
    ///
    /// # Errors
    /// Fails if the connection cannot be opened, or the server refuses.
    pub async fn listen(&self, way: Way<'_>, channel: &str) -> Result<Listener, SqlFailure> {
        // Whoever looks at the server's sessions sees why this one does nothing.
        let name = format!("{} hints", self.program);
        Listener::begin(open(way, &name).await?, channel).await
    }
}

async fn open(way: Way<'_>, name: &str) -> Result<Session, SqlFailure> {
    let rules = DialRules { has_chosen_host: false, allowed: way.allow_networks.to_vec() };
    Session::open(way.parameters, &rules, name).await
}

/// The connection is out of its place meanwhile: who gives up on an answer leaves none that waits for it.
async fn ask_over(
    place: &mut ConnectionPlace,
    mut session: Session,
    query: &SqlQuery,
    options: &QueryOptions,
    take: &mut (dyn FnMut(Value) + Send),
) -> Result<(), SqlFailure> {
    let answer = ask(&mut session, query, options, take).await;
    place.keep(session, answer.as_ref().err());
    answer
}

/// The way to a server.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// The address and the role.
    pub parameters: &'a ConnectionParameters,
    /// Networks that may be dialled though a guard would refuse them.
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
