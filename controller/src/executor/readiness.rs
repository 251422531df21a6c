//! Whether the requests of a correction can be sent, as far as it is known without asking anybody.

use std::time::Duration;

use drift_api::object::LeanObject;
use drift_kube::process::clock;

use super::{Executor, Run};
use crate::core::correction::Correction;
use crate::core::execution::Readiness;
use crate::core::outcome::Doubt;
use crate::core::rendering::Unrenderable;
use crate::requests::{RequestSender, Requests, Ways, render};

/// How often a correction that sends secrets looks whether it is known by now which there are: that takes a second at the start,
/// and where the first object of a namespace comes.
const UNTIL_SECRETS_ARE_LISTED: Duration = Duration::from_secs(1);

impl Executor {
    /// The requests of a correction; `None` while it is not known yet which Secrets there are.
    pub(super) fn render(
        &self,
        object: &LeanObject,
        correction: &Correction,
    ) -> Option<Result<Requests<'_>, Unrenderable>> {
        let secrets = self.secrets.of(&self.target, object)?;
        let RequestSender { databases, jobs, resources, .. } = &self.requests;
        let ways = Ways { databases, jobs, resources, writer: &self.writer, secrets };
        Some(render(&self.target, object, correction, ways))
    }

    /// Whether something that a correction sends is missing, as far as it is known without asking anybody.
    pub(super) fn lacks_something(&self, object: &LeanObject, correction: &Correction) -> bool {
        match self.render(object, correction) {
            Some(Ok(requests)) => {
                self.requests.check_credentials(&requests).is_err() || requests.check_secrets().is_err()
            }
            None | Some(Err(_)) => true,
        }
    }
}

impl Run<'_> {
    pub(super) fn prepare(&mut self) -> Readiness {
        let executor = self.executor;
        let Some(correction) = self.execution.correction() else { return Readiness::NotNow };
        let object = self.execution.object();
        let requests = match executor.render(object, correction) {
            None => return Readiness::Postponed(clock::now() + UNTIL_SECRETS_ARE_LISTED),
            Some(Ok(requests)) => requests,
            Some(Err(why)) => {
                self.tell_unsendable(&why);
                return Readiness::Unsendable(why.label, why.doubt);
            }
        };
        if !executor.requests.may_begin() {
            return Readiness::NotNow;
        }
        let hosts = &mut self.places.hosts;
        if let Err(until) = hosts.take_probes(&executor.requests.gate, requests.hosts(), clock::now()) {
            return Readiness::Postponed(until);
        }
        if let Err(cause) = executor.requests.check_credentials(&requests) {
            self.tell_unsendable(cause);
            return Readiness::Unsendable(None, Doubt::CredentialUnavailable);
        }
        if let Err(cause) = requests.check_secrets() {
            self.tell_unsendable(cause);
            return Readiness::Unsendable(None, Doubt::SecretUnavailable);
        }
        if self.is_unread {
            // What was missing is there by now.
            return Readiness::Postponed(clock::now());
        }
        let plan = requests.plan();
        self.requests = Some(requests);
        Readiness::Ready(plan)
    }
}
