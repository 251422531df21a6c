//! Sends the statements of a correction over the target's database connection.

use std::time::Duration;

use drift_language::{Destination, STEP_TIMEOUT};
use drift_systems::{HostReply, RunOptions, SqlFailure, Way, WriteProgress, WriteStatement};

use super::{SendContext, Subject};
use crate::engine::execution::Event;
use crate::engine::rendering::Reply;

/// Server-side time limit of a statement without a `timeout`. It is below the deadline, so that the server aborts first
/// and the outcome stays certain.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(8);

/// Rest of the deadline, for connecting and the commit.
const BESIDE_STATEMENTS: Duration = STEP_TIMEOUT.saturating_sub(STATEMENT_TIMEOUT);

pub(super) async fn send(mut context: SendContext<'_>, statements: &[WriteStatement]) -> Event {
    let (target, databases) = (context.target, &context.sender.databases);
    let Some(Destination::Sql(sql)) = &target.correct.destination else { return Event::NotSent };
    let Ok(own) = sql.connection.of(context.object.namespace.as_deref()) else { return Event::NotSent };
    let Ok(parameters) = databases.parameters(own, target.insecure) else { return Event::NotSent };
    let Some(place) = context.take_checked_place(&parameters.host_and_port()).await else { return Event::NotSent };
    let sender = context.sender;
    let mut connection = tokio::select! {
        biased;
        () = sender.term.cancelled() => return Event::NotSent,
        connection = databases.enter(&target.name, &own.secret) => connection,
    };
    // The wait for the connection may have taken long.
    if !sender.may_send(context.begins) {
        return Event::NotSent;
    }
    let progress = WriteProgress::default();
    let running = async {
        let way = Way { parameters: &parameters, allow_networks: &target.allow_networks };
        let options = RunOptions { transaction: sql.transaction, timeout: STATEMENT_TIMEOUT };
        let running = databases.run(&mut connection, way, statements, options, &progress);
        tokio::time::timeout(deadline(statements), running).await
    };
    let Some(done) = sender.while_leading(running).await else { return Event::CutOff };
    let is_sent = progress.has_begun();
    let Ok(ended) = done else {
        context.note(&place, HostReply::TimedOut);
        return Event::Replied(Reply::TimedOut { is_sent });
    };
    let heard = ended.as_ref().err().map_or(Some(HostReply::Answer), |ended| ended.failure.heard());
    heard.into_iter().for_each(|heard| context.note(&place, heard));
    if let Err(ended) = &ended
        && !matches!(ended.failure, SqlFailure::Answered(..))
    {
        let Subject { target, kind, namespace, name, uid, correction } = context.subject();
        tracing::warn!(target, kind, namespace, name, uid, correction, cause = %ended, "a correction is not accepted");
    }
    Event::Replied(Reply::Statements { ended, is_sent })
}

/// Returns the deadline of statements that are sent together. Statements with a `timeout` count with it, and the others
/// share one limit.
fn deadline(statements: &[WriteStatement]) -> Duration {
    let own: Duration = statements.iter().filter_map(|statement| statement.timeout).sum();
    let shared = statements.iter().find(|statement| statement.timeout.is_none()).map(|_| STATEMENT_TIMEOUT);
    BESIDE_STATEMENTS + own + shared.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_together_have_the_sum_of_their_times() {
        let table: [(&[Option<u64>], u64); 5] = [
            (&[None], 10),
            (&[None, None], 10),
            (&[Some(1)], 3),
            (&[Some(300), Some(60)], 362),
            (&[None, Some(300), None], 310),
        ];
        for (timeouts, seconds) in table {
            let statement = |timeout: &Option<u64>| WriteStatement {
                text: "SELECT 1".to_owned(),
                timeout: timeout.map(Duration::from_secs),
            };
            let statements: Vec<_> = timeouts.iter().map(statement).collect();
            assert_eq!(deadline(&statements), Duration::from_secs(seconds), "{timeouts:?}");
        }
    }
}
