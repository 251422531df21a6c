//! One connection that listens to one channel, and notices when the server is gone.
//!
//! A server that vanishes closes nothing, so silence is asked through. What was sent while nobody listened is lost: who listens has
//! to look at everything once a new connection stands.

use std::fmt;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_postgres::Notification;

use crate::postgres::SqlFailure;
use crate::postgres::parameters::ConnectionParameters;
use crate::postgres::session::Session;

/// What the server may send until the next notification is taken, bytes: one has at most 8,000 (PostgreSQL's own limit),
/// and many come at once.
const BETWEEN_BYTES: usize = 64 * 1024;

/// Silence after which the server is asked whether it is still there. With the wait for its answer a dead connection is
/// noticed within 20 s, and a quiet one costs six round trips a minute.
const SILENCE: Duration = Duration::from_secs(10);

/// The time that it may take to answer that, and to begin to listen.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Said of a server that does not answer.
const NO_ANSWER: &str = "the server does not answer any more";

/// A connection that listens.
pub struct Listener {
    session: Session,
}

impl Listener {
    /// Listens over a connection. What is sent from the moment that this returns is heard.
    pub(super) async fn begin(mut session: Session, channel: &str) -> Result<Self, SqlFailure> {
        session.allow(BETWEEN_BYTES);
        let listen = format!("LISTEN \"{}\"", channel.replace('"', "\"\""));
        let Session { client, line, .. } = &mut session;
        let listening = line.drive(async { Ok(client.batch_execute(&listen).await?) });
        timeout(ANSWER_TIMEOUT, listening).await.unwrap_or(Err(SqlFailure::Unreachable(NO_ANSWER)))?;
        Ok(Self { session })
    }

    /// Returns true if it was made by these parameters.
    #[must_use]
    pub fn serves(&self, parameters: &ConnectionParameters) -> bool {
        self.session.serves(parameters)
    }

    /// The text of the next notification; `None` where there was none for some seconds, and the server is there. Whoever
    /// stops waiting loses none.
    ///
    /// # Errors
    /// Fails if the connection is lost: then it stays so.
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
            // The connection is driven by the branch above.
            answer = client.batch_execute("") => Ok(answer.map(|()| None)?),
            () = sleep(ANSWER_TIMEOUT) => Err(SqlFailure::Unreachable(NO_ANSWER)),
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
