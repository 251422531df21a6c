//! Sends the statements of a correction over the target's database connection.
//!
//! The engine renders the statements and judges the results.

use std::fmt;
use std::time::Duration;

use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::{STEP_TIMEOUT, SqlCorrect, Target};
use drift_systems::{
    ConnectionParameters, Databases, HostReply, HttpSender, RunOptions, SqlFailure, StatementFailure, Way,
    WriteProgress, WriteStatement,
};

use super::{SendContext, Sending, Sent, SystemRequests, timed_out};
use crate::engine::StepAnswer;
use crate::engine::corrections::outcome::StepOutcome;
use crate::engine::rendering::{Plan, Statements, Unrenderable};

/// Server-side time limit of a statement without a `timeout`. It is below the deadline, so that the server aborts first
/// and the outcome stays certain.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(8);

/// Rest of the deadline, for connecting and the commit.
const BESIDE_STATEMENTS: Duration = STEP_TIMEOUT.saturating_sub(STATEMENT_TIMEOUT);

/// Statements of one correction with their connection.
pub(super) struct StatementRequests<'a> {
    target: &'a Target,
    sql: &'a SqlCorrect,
    statements: Statements,
    parameters: Result<ConnectionParameters, CredentialError>,
    /// Statements to send next.
    ready: Vec<WriteStatement>,
}

impl<'a> StatementRequests<'a> {
    pub(super) fn new(target: &'a Target, sql: &'a SqlCorrect, statements: Statements, databases: &Databases) -> Self {
        let parameters = databases.parameters(&sql.connection, target.insecure);
        Self { target, sql, statements, parameters, ready: Vec::new() }
    }

    fn host(&self) -> Option<String> {
        self.parameters.as_ref().ok().map(ConnectionParameters::host_and_port)
    }

    async fn run(&self, databases: &Databases, progress: &WriteProgress) -> Option<Result<(), StatementFailure>> {
        let parameters = self.parameters.as_ref().ok()?;
        let mut place = databases.enter(&self.target.name).await;
        let way = Way { parameters, allow_networks: &self.target.allow_networks };
        let options = RunOptions { transaction: self.sql.transaction, timeout: STATEMENT_TIMEOUT };
        let running = databases.run(&mut place, way, &self.ready, options, progress);
        tokio::time::timeout(deadline(&self.ready), running).await.ok()
    }
}

impl SystemRequests for StatementRequests<'_> {
    fn plan(&self) -> Plan {
        self.statements.plan()
    }

    fn hosts(&self) -> Vec<String> {
        self.host().into_iter().collect()
    }

    fn check_credentials(&self, _sender: &HttpSender) -> Result<(), String> {
        self.parameters.as_ref().map(drop).map_err(ToString::to_string)
    }

    fn check_secrets(&self) -> Result<(), CredentialError> {
        self.host().map_or(Ok(()), |host| self.statements.check_host(&host))
    }

    fn make_ready(&mut self, index: usize) -> Result<bool, Unrenderable> {
        self.ready = self.statements.to_send(index);
        Ok(!self.ready.is_empty())
    }

    fn send<'s>(&'s mut self, index: usize, mut context: SendContext<'s>) -> Sending<'s> {
        Box::pin(async move {
            let Some(host) = self.host() else { return Sent::NotSent };
            let Some(place) = context.take_place(&host).await else { return Sent::NotSent };
            let progress = WriteProgress::default();
            let running = self.run(&context.sender.databases, &progress);
            let Some(done) = context.sender.while_leading(running).await else { return Sent::CutOff };
            let Some(done) = done else {
                context.note(&place, HostReply::TimedOut);
                return timed_out(&progress);
            };
            let Err(ended) = done else {
                context.note(&place, HostReply::Answer);
                return Sent::Answered(StepAnswer::of(StepOutcome::Accepted));
            };
            ended.failure.heard().into_iter().for_each(|heard| context.note(&place, heard));
            if !matches!(ended.failure, SqlFailure::Answered(..)) {
                tracing::warn!(target = self.target.name, "a correction is not accepted: {ended}");
            }
            let (label, outcome) = self.statements.judge(index, &ended, progress.has_begun());
            Sent::Answered(StepAnswer { label, ..StepAnswer::of(outcome) })
        })
    }
}

/// Returns the deadline of statements that are sent together. Statements with a `timeout` count with it, and the others
/// share one limit.
fn deadline(statements: &[WriteStatement]) -> Duration {
    let own: Duration = statements.iter().filter_map(|statement| statement.timeout).sum();
    let shared = statements.iter().find(|statement| statement.timeout.is_none()).map(|_| STATEMENT_TIMEOUT);
    BESIDE_STATEMENTS + own + shared.unwrap_or_default()
}

// The statements are omitted, because they contain secrets.
impl fmt::Debug for StatementRequests<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StatementRequests").field("statements", &self.statements).finish_non_exhaustive()
    }
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
