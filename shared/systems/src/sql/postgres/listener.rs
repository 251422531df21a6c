//! A connection that listens to one channel, and detects a vanished server.
//!
//! A vanished server closes nothing, so an idle connection is probed. Notifications between two connections are lost,
//! so the caller must check everything after a new connection.

use crate::guard::failure::SystemFailure;
use std::fmt;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_postgres::Notification;

use crate::sql::SqlFailure;
use crate::sql::parameters::ConnectionParameters;
use crate::sql::postgres::session::Session;

/// Maximum bytes from the server until the next notification is taken. One has at most 8,000 (PostgreSQL's own limit),
/// and many come at once.
const BETWEEN_BYTES: usize = 64 * 1024;

/// Idle time before the server is probed. With the wait for its response, a dead connection is detected within 20 s,
/// and an idle one costs six round trips a minute.
const SILENCE: Duration = Duration::from_secs(10);

/// Timeout of a probe, and of the start of listening.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The message about a server that does not respond.
const NO_ANSWER: &str = "the server does not answer any more";

/// A connection that listens.
pub struct Listener {
    session: Session,
}

impl Listener {
    /// Starts to listen on a connection. Notifications sent after it returns are received.
    pub(crate) async fn begin(mut session: Session, channel: &str) -> Result<Self, SqlFailure> {
        session.allow(BETWEEN_BYTES);
        let listen = format!("LISTEN \"{}\"", channel.replace('"', "\"\""));
        let Session { client, line, .. } = &mut session;
        let listening = line.drive(async { Ok(client.batch_execute(&listen).await?) });
        timeout(ANSWER_TIMEOUT, listening)
            .await
            .unwrap_or(Err(SqlFailure::System(SystemFailure::Unreachable(NO_ANSWER))))?;
        Ok(Self { session })
    }

    /// Returns true if it was opened with these parameters.
    #[must_use]
    pub fn serves(&self, parameters: &ConnectionParameters) -> bool {
        self.session.serves(parameters)
    }

    /// Returns the text of the next notification. `None` after some seconds without one, with the server alive.
    /// Cancelling the wait loses no notification.
    ///
    /// # Errors
    /// Fails if the connection is lost. It stays lost.
    pub async fn next(&mut self) -> Result<Option<String>, SqlFailure> {
        self.session.allow(BETWEEN_BYTES);
        let Session { client, line, .. } = &mut self.session;
        tokio::select! {
            biased;
            notification = line.next_notification() => return text_of(notification),
            () = sleep(SILENCE) => {}
        }
        tokio::select! {
            biased;
            notification = line.next_notification() => text_of(notification),
            // The branch above drives the connection.
            answer = client.batch_execute("") => Ok(answer.map(|()| None)?),
            () = sleep(ANSWER_TIMEOUT) => Err(SqlFailure::System(SystemFailure::Unreachable(NO_ANSWER))),
        }
    }
}

fn text_of(notification: Result<Notification, SqlFailure>) -> Result<Option<String>, SqlFailure> {
    notification.map(|notification| Some(notification.payload().to_owned()))
}

impl fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Listener").finish_non_exhaustive()
    }
}
