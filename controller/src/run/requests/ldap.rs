//! Sends the changes of a correction to a directory, each in a session of its own.
//!
//! The engine renders the changes and judges the results.

use std::fmt;

use drift_api::{Change, CredentialError};
use drift_language::{LdapCorrect, STEP_TIMEOUT, Target};
use drift_systems::{DirectoryParameters, DirectoryServer, HostReply, HttpSender, WriteProgress};

use super::{SendContext, Sending, Sent, SystemRequests, timed_out};
use crate::engine::StepAnswer;
use crate::engine::corrections::outcome::StepOutcome;
use crate::engine::rendering::{Changes, Plan, Unrenderable};

/// Changes of one correction with their server.
pub(super) struct ChangeRequests<'a> {
    target: &'a Target,
    changes: Changes,
    parameters: Result<DirectoryParameters, CredentialError>,
    /// Change to send next.
    ready: Option<Change>,
}

impl<'a> ChangeRequests<'a> {
    pub(super) fn new(target: &'a Target, ldap: &LdapCorrect, changes: Changes, sender: &HttpSender) -> Self {
        let parameters = DirectoryParameters::of(&ldap.secret, &sender.secrets(), target.insecure);
        Self { target, changes, parameters, ready: None }
    }

    fn host(&self) -> Option<String> {
        self.parameters.as_ref().ok().map(DirectoryParameters::host_and_port)
    }
}

impl SystemRequests for ChangeRequests<'_> {
    fn plan(&self) -> Plan {
        self.changes.plan()
    }

    fn hosts(&self) -> Vec<String> {
        self.host().into_iter().collect()
    }

    fn check_credentials(&self, _sender: &HttpSender) -> Result<(), String> {
        self.parameters.as_ref().map(drop).map_err(ToString::to_string)
    }

    fn check_secrets(&self) -> Result<(), CredentialError> {
        self.host().map_or(Ok(()), |host| self.changes.check_host(&host))
    }

    fn make_ready(&mut self, index: usize) -> Result<bool, Unrenderable> {
        self.ready = self.changes.to_send(index);
        Ok(self.ready.is_some())
    }

    fn send<'s>(&'s mut self, index: usize, mut context: SendContext<'s>) -> Sending<'s> {
        Box::pin(async move {
            let (Ok(parameters), Some(change)) = (&self.parameters, &self.ready) else { return Sent::NotSent };
            let Some(place) = context.take_place(&parameters.host_and_port()).await else { return Sent::NotSent };
            let server = DirectoryServer { parameters, allow_networks: &self.target.allow_networks };
            let progress = WriteProgress::default();
            let running = tokio::time::timeout(STEP_TIMEOUT, server.change(change, &progress));
            let Some(done) = context.sender.while_leading(running).await else { return Sent::CutOff };
            let Ok(done) = done else {
                context.note(&place, HostReply::TimedOut);
                return timed_out(&progress);
            };
            let Err(failure) = done else {
                context.note(&place, HostReply::Answer);
                return Sent::Answered(StepAnswer::of(StepOutcome::Accepted));
            };
            failure.heard().into_iter().for_each(|heard| context.note(&place, heard));
            if failure.said().is_none() {
                tracing::warn!(target = self.target.name, "a correction is not accepted: {failure}");
            }
            Sent::Answered(StepAnswer::of(self.changes.judge(index, &failure, progress.has_begun())))
        })
    }
}

// The changes are omitted, because they contain secrets.
impl fmt::Debug for ChangeRequests<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ChangeRequests").field("changes", &self.changes).finish_non_exhaustive()
    }
}
