//! The part of one target in what all targets of the program share, behind the handles that they share it by.

use std::collections::HashMap;
use std::sync::Arc;

use drift_api::attestation::Attestation;
use drift_api::condition::SecretMarks;
use drift_api::identity::{Claimant, ObjectRef, Rights, Uid};
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;
use drift_kube::{Busy, HeldClaim, Member, Wake};
use drift_language::Target;

use crate::engine::SharedState;
use crate::engine::execution::{Destinations, Probes};
use crate::engine::rendering::Requests;
use crate::engine::rendering::secrets::{ObjectSecrets, SecretChange};
use crate::run::context::Context;
use crate::run::executor::Executor;
use crate::run::secrets::SecretVersions;

/// The handles of one target.
pub(super) struct SharedHandles {
    context: Arc<Context>,
    executor: Arc<Executor>,
    /// `None` once the target works by another text.
    identities: Option<Member>,
    busy: HashMap<Uid, Busy>,
    held: HashMap<Uid, HeldClaim>,
    /// The Secrets when every object was decided on last.
    secrets: SecretVersions,
}

impl SharedHandles {
    pub(super) fn new(context: Arc<Context>, executor: Arc<Executor>) -> Self {
        let identities = Some(context.identities.join(&executor.target));
        let secrets = SecretVersions::default();
        Self { context, executor, identities, busy: HashMap::new(), held: HashMap::new(), secrets }
    }

    /// Waits for the next object or scope to look at again.
    pub(super) async fn next_wake(&mut self) -> Wake {
        match &mut self.identities {
            Some(identities) => identities.next_wake().await,
            None => std::future::pending().await,
        }
    }

    fn target(&self) -> &Target {
        &self.executor.target
    }
}

impl SharedState for SharedHandles {
    fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid> {
        self.identities.as_mut().map(|identities| identities.insert(uid, claimant)).unwrap_or_default()
    }

    fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        self.identities.as_mut().map(|identities| identities.remove(uid)).unwrap_or_default()
    }

    fn claim(&mut self, uid: &Uid, claimant: Claimant) -> bool {
        self.identities.as_ref().is_some_and(|identities| identities.claim(uid, claimant))
    }

    fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        self.identities.as_ref().map(|identities| identities.rights(uid, claimant)).unwrap_or_default()
    }

    fn sees(&self, object: &ObjectRef) -> bool {
        self.identities.as_ref().is_some_and(|identities| identities.sees(object))
    }

    fn note_listed(&mut self) {
        self.identities.iter_mut().for_each(Member::note_listed);
    }

    fn is_scope_complete(&self, deletes: bool) -> bool {
        self.identities.as_ref().is_some_and(|identities| identities.is_scope_complete(deletes))
    }

    fn awaited(&self, deletes: bool) -> Option<String> {
        self.identities.as_ref().and_then(|identities| identities.awaited(deletes))
    }

    fn hold(&mut self, uid: &Uid, claimant: Claimant) {
        let held = self.identities.as_ref().map(|identities| identities.hold(uid, claimant));
        self.held.extend(held.map(|held| (uid.clone(), held)));
    }

    fn release(&mut self, uid: &Uid) {
        self.held.remove(uid);
    }

    fn begin(&mut self, uid: &Uid) -> bool {
        let busy = if self.executor.requests.may_begin() { self.context.under_way.begin(uid) } else { None };
        let has_begun = busy.is_some();
        self.busy.extend(busy.map(|busy| (uid.clone(), busy)));
        has_begun
    }

    fn end(&mut self, uid: &Uid) {
        self.busy.remove(uid);
    }

    fn leave(&mut self) {
        self.identities = None;
    }

    fn attestation(&self, now: Moment) -> Option<Attestation> {
        self.context.attestations.borrow().word_for(self.target().into(), now).cloned()
    }

    fn attests(&self, object: &ObjectId, now: Moment) -> bool {
        self.context.attestations.borrow().attests_to(object, self.target().into(), now)
    }

    fn secrets_of(&self, object: &LeanObject) -> Option<SecretMarks> {
        self.executor.secrets.watched(self.target(), object)
    }

    fn declared_secrets_of(&self, object: &LeanObject) -> Option<SecretMarks> {
        self.executor.secrets.declared(self.target(), object)
    }

    fn sent_secrets_of(&self, object: &LeanObject) -> Option<ObjectSecrets> {
        self.executor.secrets.of(self.target(), object)
    }

    fn may_begin(&self) -> bool {
        self.executor.requests.may_begin()
    }

    fn destinations(&self, requests: &dyn Requests) -> Destinations {
        self.executor.requests.destinations(self.target(), requests)
    }

    fn take_probes(&self, hosts: &[String], now: Moment) -> Result<Probes, Moment> {
        self.executor.requests.take_probes(hosts, now)
    }

    fn take_secret_change(&mut self) -> SecretChange {
        self.executor.secrets.changed(&self.executor.target, &mut self.secrets)
    }
}
