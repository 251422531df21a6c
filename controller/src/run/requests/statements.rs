//! The statements of a correction, sent over the target's connection to its database.
//!
//! What they are and what became of them is the engine's to say. This file must not know of conditions, claims or objects.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::{PostgresCorrect, Target};
use drift_systems::{ConnectionParameters, Databases, Heard, RunOptions, StatementFailure, Way};

use super::{Reply, STEP_DEADLINE, Sent};
use crate::engine::corrections::outcome::{Doubt, StepOutcome};
use crate::engine::rendering::plan::Plan;
use crate::engine::rendering::statements::Statements;

/// What the server may take for one statement: less than the deadline, so that it is the server that gives up, and nothing is
/// left in doubt.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(8);

/// The statements of one correction, and how they are sent.
pub(super) struct StatementRequests<'a> {
    target: &'a Target,
    postgres: &'a PostgresCorrect,
    statements: Statements,
    parameters: Result<ConnectionParameters, CredentialError>,
    /// Those that are to be sent next.
    ready: Vec<String>,
}

impl<'a> StatementRequests<'a> {
    pub(super) fn new(
        target: &'a Target,
        postgres: &'a PostgresCorrect,
        statements: Statements,
        databases: &Databases,
    ) -> Self {
        let parameters = databases.parameters(&postgres.connection, target.insecure);
        Self { target, postgres, statements, parameters, ready: Vec::new() }
    }

    pub(super) fn host(&self) -> Option<String> {
        self.parameters.as_ref().ok().map(ConnectionParameters::host_and_port)
    }

    pub(super) fn plan(&self) -> Plan {
        self.statements.plan()
    }

    /// Whether there is anything to send for this step.
    pub(super) fn make_ready(&mut self, step: usize) -> bool {
        self.ready = self.statements.texts(step);
        !self.ready.is_empty()
    }

    pub(super) fn judge(&self, step: usize, failure: &StatementFailure) -> (Option<Arc<str>>, StepOutcome) {
        self.statements.judge(step, failure)
    }

    /// Whether the secrets in the statements may be sent to the server.
    pub(super) fn check_secrets(&self) -> Result<(), CredentialError> {
        self.host().map_or(Ok(()), |host| self.statements.check_host(&host))
    }

    /// Whether the Secret says how to connect.
    pub(super) fn check_connection(&self) -> Result<(), String> {
        self.parameters.as_ref().map(drop).map_err(ToString::to_string)
    }

    /// Sends what is ready; says besides what became of it what that says of the host.
    pub(super) async fn send(&self, databases: &Databases) -> (Sent, Option<Heard>) {
        let Ok(parameters) = &self.parameters else { return (Sent::NotSent, None) };
        let mut place = databases.enter(&self.target.name).await;
        let way = Way { parameters, allow_networks: &self.target.allow_networks };
        let options = RunOptions { transaction: self.postgres.transaction, timeout: STATEMENT_TIMEOUT };
        let running = databases.run(&mut place, way, &self.ready, options);
        match tokio::time::timeout(STEP_DEADLINE, running).await {
            Err(_) => (Sent::Unanswered(Doubt::TimedOut), Some(Heard::TimedOut)),
            Ok(done) => {
                let heard = done.as_ref().err().map_or(Some(Heard::Answer), |ended| ended.failure.heard());
                if let Err(ended) = &done {
                    tracing::warn!(target_name = self.target.name, "a correction is not accepted: {ended}");
                }
                (Sent::Answered(Reply::Sql(done)), heard)
            }
        }
    }
}

// What is to be sent is not shown: secrets stand in it.
impl fmt::Debug for StatementRequests<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StatementRequests").field("statements", &self.statements).finish_non_exhaustive()
    }
}
