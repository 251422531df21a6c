//! Listens on a PostgreSQL server, over a connection that is re-established after each loss.
//!
//! The engine judges the received payloads. After each connect everything is polled, because earlier
//! notifications are lost.

use std::time::Duration;

use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;
use drift_kube::process::clock;
use drift_language::ListenHints;
use drift_systems::{Listener, SqlFailure, SystemFailure, Way};
use serde_json::Value;

use crate::engine::hints::Hint;
use crate::run::hint_inbox::Inbox;
use crate::run::reads::outside::Outside;

/// Interval of checks for a changed Secret.
const LOOK_AT_SECRETS: Duration = Duration::from_secs(1);

/// Name of this source of hints.
const LISTEN: &str = "listen";

/// Listens until it is dropped.
pub(super) async fn hear(outside: &Outside, listen: &ListenHints, inbox: &Inbox) {
    while !outside.databases.knows_secrets() {
        tokio::time::sleep(LOOK_AT_SECRETS).await;
    }
    let mut backoff = Backoff::new(Series::HOST_SILENT);
    loop {
        let began = clock::now();
        inbox.say_connected(LISTEN, false);
        let Err(failure) = hear_once(outside, listen, inbox).await else { continue };
        inbox.tell(&failure.to_string());
        // A connection that keeps breaking is retried no faster than one that cannot be established.
        if clock::now() - began > backoff.series().longest {
            backoff.reset();
        }
        inbox.say_connected(LISTEN, false);
        let wait = backoff.fail(clock::now());
        tokio::time::sleep(wait).await;
    }
}

/// Listens until the connection is lost. Returns `Ok` if the Secret has changed.
async fn hear_once(outside: &Outside, listen: &ListenHints, inbox: &Inbox) -> Result<(), SqlFailure> {
    let mut listener = connect(outside, listen, inbox).await?;
    inbox.say_connected(LISTEN, true);
    inbox.pass_on(Hint::Everything).await;
    let mut looked = clock::now();
    loop {
        if let Some(text) = listener.next().await? {
            // The inbox counts the outcome.
            let _ = inbox.take(|| listen.identities.of(&Value::from(text))).await;
        }
        if is_due(&mut looked)
            && !listener.serves(&outside.databases.parameters(&listen.connection, inbox.target.insecure)?)
        {
            return Ok(());
        }
    }
}

async fn connect(outside: &Outside, listen: &ListenHints, inbox: &Inbox) -> Result<Listener, SqlFailure> {
    let parameters = outside.databases.parameters(&listen.connection, inbox.target.insecure)?;
    let way = Way { parameters: &parameters, allow_networks: &inbox.target.allow_networks };
    let connecting = outside.databases.listen(way, &listen.channel);
    let in_time = tokio::time::timeout(inbox.target.timeout, connecting).await;
    in_time.unwrap_or(Err(SqlFailure::System(SystemFailure::Unreachable(
        "connecting took longer than the target's timeout",
    ))))
}

fn is_due(looked: &mut Moment) -> bool {
    let now = clock::now();
    let is_due = now.is_past(*looked, LOOK_AT_SECRETS);
    if is_due {
        *looked = now;
    }
    is_due
}
