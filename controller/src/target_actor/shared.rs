//! The part of one target in what all targets of the program share, behind the handles that they share it by.

use std::collections::HashMap;
use std::sync::Arc;

use drift_api::condition::SecretMarks;
use drift_api::identity::{Claimant, Rights, Uid};
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;
use drift_api::voucher::Voucher;
use drift_kube::identities::Member;
use drift_kube::under_way::Busy;
use drift_language::Target;

use crate::context::Context;
use crate::core::secrets::SecretChange;
use crate::engine::Program;
use crate::executor::Executor;
use crate::secrets::Look;

/// The handles of one target.
pub(super) struct Shared {
    context: Arc<Context>,
    executor: Arc<Executor>,
    pub(super) identities: Member,
    /// Objects whose work began in this step, until an execution takes each.
    begun: HashMap<Uid, Busy>,
    /// The Secrets when every object was decided on last.
    secrets: Look,
}

impl Shared {
    pub(super) fn new(context: Arc<Context>, executor: Arc<Executor>) -> Self {
        let identities = context.identities.join(&executor.target);
        Self { context, executor, identities, begun: HashMap::new(), secrets: Look::default() }
    }

    /// Hands over the object whose work began: nothing else works on it until that is dropped.
    pub(super) fn take_begun(&mut self, uid: &Uid) -> Option<Busy> {
        self.begun.remove(uid)
    }

    fn target(&self) -> &Target {
        &self.executor.target
    }
}

impl Program for Shared {
    fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid> {
        self.identities.insert(uid, claimant)
    }

    fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        self.identities.remove(uid)
    }

    fn claim(&mut self, uid: &Uid, claimant: Claimant) -> bool {
        self.identities.claim(uid, claimant)
    }

    fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        self.identities.rights(uid, claimant)
    }

    fn note_listed(&mut self) {
        self.identities.note_listed();
    }

    fn is_scope_complete(&self) -> bool {
        self.identities.is_scope_complete()
    }

    fn awaited(&self) -> Option<String> {
        self.identities.awaited()
    }

    fn begin(&mut self, uid: &Uid) -> bool {
        let busy = if self.executor.requests.may_begin() { self.context.under_way.begin(uid) } else { None };
        let has_begun = busy.is_some();
        self.begun.extend(busy.map(|busy| (uid.clone(), busy)));
        has_begun
    }

    fn attestation(&self, now: Moment) -> Option<Voucher> {
        let Target { name, verdict_hash, .. } = self.target();
        self.context.vouching.borrow().word_for(name, verdict_hash, now).cloned()
    }

    fn attests(&self, object: &ObjectId, now: Moment) -> bool {
        let Target { name, verdict_hash, .. } = self.target();
        self.context.vouching.borrow().vouches_for(object, (name, verdict_hash), now)
    }

    fn secrets_of(&self, object: &LeanObject) -> Option<SecretMarks> {
        self.executor.secrets.watched(self.target(), object)
    }

    fn take_secret_change(&mut self) -> SecretChange {
        self.executor.secrets.changed(&self.executor.target, &mut self.secrets)
    }
}
