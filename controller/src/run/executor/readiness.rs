//! Checks of a correction's requests that need no network call.

use drift_api::{LeanObject, Moment};
use drift_kube::process::clock;

use super::{Executor, Run};
use crate::engine::corrections::{Correction, Doubt, Uncertainty};
use crate::engine::execution::{Outgoing, Readiness};
use crate::engine::rendering::{Plan, Unrenderable};
use crate::run::requests::{RequestSender, Requests, Ways, render};

impl Executor {
    /// Renders the requests of a correction; `None` until the Secrets are listed.
    pub(super) fn render(
        &self,
        object: &LeanObject,
        correction: &Correction,
    ) -> Option<Result<Requests<'_>, Unrenderable>> {
        let secrets = self.secrets.of(&self.target, object)?;
        let RequestSender { sender, databases, jobs, resources, .. } = &self.requests;
        let ways = Ways { sender, databases, jobs, resources, writer: &self.writer, secrets };
        Some(render(&self.target, object, correction, ways))
    }
}

impl<'a> Run<'a> {
    /// Returns true if an input is missing. A correction that lacks a Secret then causes no read, regardless of the
    /// number of such objects.
    pub(super) fn lacks_something(&mut self) -> bool {
        let executor = self.executor;
        let Some(Ok(requests)) = self.take_requests() else { return true };
        let lacks = requests.system.check_credentials(&executor.requests.sender).is_err()
            || requests.system.check_secrets().is_err();
        self.requests = Some(requests);
        lacks
    }

    pub(super) fn prepare(&mut self, is_unread: bool) -> Readiness {
        if self.correction.is_none() {
            return Readiness::NotNow;
        }
        let now = clock::now();
        let requests = match self.take_requests() {
            None => return Readiness::of(None, is_unread, now),
            Some(Err(why)) => {
                self.tell_unsendable(&why);
                return Readiness::of(Some(Err(why)), is_unread, now);
            }
            Some(Ok(requests)) => requests,
        };
        let mut prepared = Prepared { run: self, requests };
        let readiness = Readiness::of(Some(Ok(&mut prepared)), is_unread, now);
        let requests = prepared.requests;
        self.requests = Some(requests);
        readiness
    }

    /// Returns the requests of the correction. The requests of the check are reused if none of their inputs can have
    /// changed; a sent Secret may have changed.
    fn take_requests(&mut self) -> Option<Result<Requests<'a>, Unrenderable>> {
        let (executor, correction) = (self.executor, self.correction.as_ref()?);
        let is_same = self.rendered_for.as_ref().is_some_and(|(view, made_for)| {
            *view == self.object.view && made_for == correction && executor.target.secrets.is_empty()
        });
        if let Some(requests) = self.requests.take().filter(|_| is_same) {
            return Some(Ok(requests));
        }
        let requests = executor.render(&self.object, correction)?;
        self.rendered_for = Some((self.object.view.clone(), correction.clone()));
        Some(requests)
    }
}

/// Requests of a run, and the run that holds their places.
struct Prepared<'r, 'a> {
    run: &'r mut Run<'a>,
    requests: Requests<'a>,
}

impl Outgoing for Prepared<'_, '_> {
    fn may_begin(&self) -> bool {
        self.run.executor.requests.may_begin()
    }

    fn take_hosts(&mut self, now: Moment) -> Result<(), Moment> {
        let gate = &self.run.executor.requests.gate;
        self.run.hosts.take_probes(gate, self.requests.system.hosts().into_iter().collect(), now)
    }

    fn missing(&mut self) -> Option<Uncertainty> {
        if let Err(cause) = self.requests.system.check_credentials(&self.run.executor.requests.sender) {
            self.run.tell_unsendable(&cause);
            return Some(Uncertainty::caused_by(Doubt::CredentialUnavailable, cause));
        }
        if let Err(cause) = self.requests.system.check_secrets() {
            self.run.tell_unsendable(&cause);
            return Some(Uncertainty::caused_by(Doubt::SecretUnavailable, cause.to_string()));
        }
        None
    }

    fn plan(&self) -> Plan {
        self.requests.system.plan()
    }
}
