//! One target's share of the state that all targets of the simulated controller use. The shell has it behind handles.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
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
use drift_controller::engine::execution::{Destinations, Probes};
use drift_controller::engine::rendering::Requests;
use drift_controller::engine::rendering::secrets::{
    AvailableSecrets, ObjectSecrets, SecretChange, declared_marks, watched_marks,
};
use drift_kube::{Busy, HeldClaim, Identities, Member, UnderWay, Wake};
use drift_language::Target;
use futures::FutureExt as _;

use crate::targets::secrets;

/// The attestations, the Secret, and the shipped values that all targets share. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Around {
    state: Rc<RefCell<State>>,
    pub(crate) identities: Identities,
    pub(crate) under_way: UnderWay,
}

#[derive(Default)]
struct State {
    attestations: Attestations,
    /// The version of the Secret that corrections send; `None` while it is missing.
    secret: Option<u32>,
    lost_lease: bool,
}

impl Around {
    /// Records the loss of the Lease: no new work starts.
    pub(crate) fn lose_lease(&self) {
        self.state.borrow_mut().lost_lease = true;
    }

    /// Returns true if the Lease is held.
    pub(crate) fn has_lease(&self) -> bool {
        !self.state.borrow().lost_lease
    }

    /// Sets the poller's attestations.
    pub(crate) fn attest(&self, attestations: Attestations) {
        self.state.borrow_mut().attestations = attestations;
    }

    /// Returns true if the poller attests this text of the target as a whole.
    pub(crate) fn has_text_of_poller(&self, target: &Target) -> bool {
        self.state.borrow().attestations.texts.get(&target.name) == Some(&target.document_hash)
    }

    /// Sets the version of the Secret that corrections send.
    pub(crate) fn set_secret(&self, secret: Option<u32>) {
        self.state.borrow_mut().secret = secret;
    }
}

/// The share of one target.
pub(crate) struct Shared {
    target: Arc<Target>,
    around: Around,
    /// `None` once the target works by another text.
    member: Option<Member>,
    busy: HashMap<Uid, Busy>,
    held: HashMap<Uid, HeldClaim>,
    /// The Secret at the last check.
    secret: Option<Option<u32>>,
}

impl Shared {
    pub(crate) fn new(target: &Arc<Target>, around: Around) -> Self {
        let member = Some(around.identities.join(target));
        Self { target: target.clone(), around, member, busy: HashMap::new(), held: HashMap::new(), secret: None }
    }

    /// Returns the next object or scope to look at again.
    pub(crate) fn next_wake(&mut self) -> Option<Wake> {
        self.member.as_mut()?.next_wake().now_or_never()
    }
}

impl SharedState for Shared {
    fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid> {
        self.member.as_mut().map(|member| member.insert(uid, claimant)).unwrap_or_default()
    }

    fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        self.member.as_mut().map(|member| member.remove(uid)).unwrap_or_default()
    }

    fn claim(&mut self, uid: &Uid, claimant: Claimant) -> bool {
        self.member.as_ref().is_some_and(|member| member.claim(uid, claimant))
    }

    fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        self.member.as_ref().map(|member| member.rights(uid, claimant)).unwrap_or_default()
    }

    fn sees(&self, object: &ObjectRef) -> bool {
        self.member.as_ref().is_some_and(|member| member.sees(object))
    }

    fn note_listed(&mut self) {
        self.member.iter_mut().for_each(Member::note_listed);
    }

    fn is_scope_complete(&self, deletes: bool) -> bool {
        self.member.as_ref().is_some_and(|member| member.is_scope_complete(deletes))
    }

    fn awaited(&self, deletes: bool) -> Option<String> {
        self.member.as_ref().and_then(|member| member.awaited(deletes))
    }

    fn hold(&mut self, uid: &Uid, claimant: Claimant) {
        let held = self.member.as_ref().map(|member| member.hold(uid, claimant));
        self.held.extend(held.map(|held| (uid.clone(), held)));
    }

    fn release(&mut self, uid: &Uid) {
        self.held.remove(uid);
    }

    fn begin(&mut self, uid: &Uid) -> bool {
        let busy = if self.around.has_lease() { self.around.under_way.begin(uid) } else { None };
        let has_begun = busy.is_some();
        self.busy.extend(busy.map(|busy| (uid.clone(), busy)));
        has_begun
    }

    fn end(&mut self, uid: &Uid) {
        self.busy.remove(uid);
    }

    fn leave(&mut self) {
        self.member = None;
    }

    fn attestation(&self, now: Moment) -> Option<Attestation> {
        self.around.state.borrow().attestations.word_for((&*self.target).into(), now).cloned()
    }

    fn attests(&self, object: &ObjectId, now: Moment) -> bool {
        self.around.state.borrow().attestations.attests_to(object, (&*self.target).into(), now)
    }

    fn declared_secrets_of(&self, object: &LeanObject) -> Option<SecretMarks> {
        let (own, beside) = (secrets(self.around.state.borrow().secret), LabelledSecrets::from_iter([]));
        Some(declared_marks(&self.target, object, AvailableSecrets { own: &own, beside: &beside }))
    }

    fn secrets_of(&self, object: &LeanObject) -> Option<SecretMarks> {
        let (own, beside) = (secrets(self.around.state.borrow().secret), LabelledSecrets::from_iter([]));
        watched_marks(&self.target, object, AvailableSecrets { own: &own, beside: &beside })
    }

    fn sent_secrets_of(&self, object: &LeanObject) -> Option<ObjectSecrets> {
        let (own, beside) = (secrets(self.around.state.borrow().secret), LabelledSecrets::from_iter([]));
        Some(ObjectSecrets::of(&self.target, object, AvailableSecrets { own: &own, beside: &beside }))
    }

    fn may_begin(&self) -> bool {
        self.around.has_lease()
    }

    fn destinations(&self, _requests: &dyn Requests) -> Destinations {
        Destinations::default()
    }

    fn take_probes(&self, _hosts: &[String], _now: Moment) -> Result<Probes, Moment> {
        Ok(Probes::new())
    }

    fn take_secret_change(&mut self) -> SecretChange {
        let secret = self.around.state.borrow().secret;
        let is_same = self.secret.replace(secret) == Some(secret);
        if is_same { SecretChange::Beside(BTreeSet::new()) } else { SecretChange::All }
    }
}
