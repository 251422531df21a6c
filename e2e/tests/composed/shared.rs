//! One target's share of the state that all targets of the simulated controller use. The shell has it behind handles.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use drift_api::attestation::Attestation;
use drift_api::condition::SecretMarks;
use drift_api::identity::{Claimant, ObjectRef, Rights, Uid};
use drift_api::object::{LeanObject, ObjectId};
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_api::timing::moment::Moment;
use drift_controller::engine::SharedState;
use drift_controller::engine::decide::attestation::Attestations;
use drift_controller::engine::rendering::secrets::{AvailableSecrets, SecretChange, declared_marks, watched_marks};
use drift_language::Target;

use crate::resources::Resources;
use crate::targets::secrets;

/// The attestations, the Secret, and the objects with tasks in progress. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Around(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    under_way: HashSet<Uid>,
    attestations: Attestations,
    /// The version of the Secret that corrections send; `None` while it is missing.
    secret: Option<u32>,
    lost_lease: bool,
}

impl Around {
    /// Records the loss of the Lease: no new work starts.
    pub(crate) fn lose_lease(&self) {
        self.0.borrow_mut().lost_lease = true;
    }

    /// Returns true if the Lease is held.
    pub(crate) fn has_lease(&self) -> bool {
        !self.0.borrow().lost_lease
    }

    /// Sets the poller's attestations.
    pub(crate) fn attest(&self, attestations: Attestations) {
        self.0.borrow_mut().attestations = attestations;
    }

    /// Returns true if the poller attests this text of the target as a whole.
    pub(crate) fn has_text_of_poller(&self, target: &Target) -> bool {
        self.0.borrow().attestations.texts.get(&target.name) == Some(&target.document_hash)
    }

    /// Sets the version of the Secret that corrections send.
    pub(crate) fn set_secret(&self, secret: Option<u32>) {
        self.0.borrow_mut().secret = secret;
    }
}

/// The share of one target.
pub(crate) struct Shared {
    target: Arc<Target>,
    resources: Resources,
    around: Around,
    /// The Secret at the last check.
    secret: Option<Option<u32>>,
}

impl Shared {
    pub(crate) fn new(target: &Arc<Target>, resources: Resources, around: Around) -> Self {
        Self { target: target.clone(), resources, around, secret: None }
    }
}

impl SharedState for Shared {
    fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid> {
        self.resources.insert(&self.target, uid, claimant);
        self.resources.take_concerned_of(&self.target.name)
    }

    fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        self.resources.remove(&self.target, uid);
        self.resources.take_concerned_of(&self.target.name)
    }

    fn claim(&mut self, uid: &Uid, claimant: Claimant) -> bool {
        self.resources.claim(&self.target, uid, claimant)
    }

    fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        self.resources.rights(uid, claimant)
    }

    fn sees(&self, object: &ObjectRef) -> bool {
        self.resources.sees(object)
    }

    fn note_listed(&mut self) {
        self.resources.note_listed(&self.target);
    }

    fn is_scope_complete(&self, _deletes: bool) -> bool {
        self.resources.is_complete(self.target.scope.id)
    }

    fn awaited(&self, _deletes: bool) -> Option<String> {
        (!self.resources.is_complete(self.target.scope.id)).then(|| "another target".to_owned())
    }

    fn hold(&mut self, uid: &Uid, claimant: Claimant) {
        self.resources.hold(uid, Some(claimant));
    }

    fn release(&mut self, uid: &Uid) {
        self.resources.hold(uid, None);
    }

    fn begin(&mut self, uid: &Uid) -> bool {
        self.around.has_lease() && self.around.0.borrow_mut().under_way.insert(uid.clone())
    }

    fn end(&mut self, uid: &Uid) {
        self.around.0.borrow_mut().under_way.remove(uid);
    }

    fn leave(&mut self) {}

    fn attestation(&self, now: Moment) -> Option<Attestation> {
        self.around.0.borrow().attestations.word_for((&*self.target).into(), now).cloned()
    }

    fn attests(&self, object: &ObjectId, now: Moment) -> bool {
        self.around.0.borrow().attestations.attests_to(object, (&*self.target).into(), now)
    }

    fn declared_secrets_of(&self, object: &LeanObject) -> Option<SecretMarks> {
        let (own, beside) = (secrets(self.around.0.borrow().secret), LabelledSecrets::from_iter([]));
        Some(declared_marks(&self.target, object, AvailableSecrets { own: &own, beside: &beside }))
    }

    fn secrets_of(&self, object: &LeanObject) -> Option<SecretMarks> {
        let (own, beside) = (secrets(self.around.0.borrow().secret), LabelledSecrets::from_iter([]));
        watched_marks(&self.target, object, AvailableSecrets { own: &own, beside: &beside })
    }

    fn take_secret_change(&mut self) -> SecretChange {
        let secret = self.around.0.borrow().secret;
        let is_same = self.secret.replace(secret) == Some(secret);
        if is_same { SecretChange::Beside(BTreeSet::new()) } else { SecretChange::All }
    }
}
