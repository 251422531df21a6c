//! State that one target shares with the other targets of its program.

use drift_api::attestation::Attestation;
use drift_api::condition::SecretMarks;
use drift_api::identity::{Claimant, ObjectRef, Rights, Uid};
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;

use crate::engine::execution::{Destinations, Probes};
use crate::engine::rendering::Requests;
use crate::engine::rendering::secrets::{ObjectSecrets, SecretChange};

/// Access of one target to the shared state of all targets. An engine queries it while it decides. No call blocks.
pub trait SharedState {
    /// Registers an object as a claimant. Returns the target's other objects whose rights may have changed.
    fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid>;

    /// Removes an object. Returns the target's other objects whose rights may have changed.
    fn remove(&mut self, uid: &Uid) -> Vec<Uid>;

    /// Registers the object with a claim on its resource. Returns false if the object has no right to it
    /// at this moment.
    fn claim(&mut self, uid: &Uid, claimant: Claimant) -> bool;

    /// Returns the rights of the object as that claimant.
    fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights;

    /// Returns true if a target has seen the object, so that its claim is known.
    fn sees(&self, object: &ObjectRef) -> bool;

    /// Records that the target's list is complete: its objects are the inserted ones.
    fn note_listed(&mut self);

    /// Returns true if the scope is complete: all objects are known that must be known before the target claims a
    /// resource or, if `deletes`, before it deletes one.
    fn is_scope_complete(&self, deletes: bool) -> bool;

    /// Describes the targets that the scope waits for; `None` if it is complete.
    fn awaited(&self, deletes: bool) -> Option<String>;

    /// Reserves the resource for the object as that claimant, even if the object leaves its target meanwhile.
    fn hold(&mut self, uid: &Uid, claimant: Claimant);

    /// Releases the object's reservation, so that other objects may take the resource.
    fn release(&mut self, uid: &Uid);

    /// Begins work on an object. Returns false while other work on it is running, or while no work may begin.
    fn begin(&mut self, uid: &Uid) -> bool;

    /// Ends work on an object.
    fn end(&mut self, uid: &Uid);

    /// Leaves the shared state, because the target was edited or removed. Only `release` and `end` may follow.
    fn leave(&mut self);

    /// Returns the poller's attestation of the target, if it is attested.
    fn attestation(&self, now: Moment) -> Option<Attestation>;

    /// Returns true if the poller attests the verdict on this object.
    fn attests(&self, object: &ObjectId, now: Moment) -> bool;

    /// Returns the versions of the object's write-only secrets.
    fn secrets_of(&self, object: &LeanObject) -> Option<SecretMarks>;

    /// Returns the versions of all secrets of the object; `None` until the Secrets are listed.
    fn declared_secrets_of(&self, object: &LeanObject) -> Option<SecretMarks>;

    /// Returns the secrets that corrections of the object send; `None` until the Secrets are listed.
    fn sent_secrets_of(&self, object: &LeanObject) -> Option<ObjectSecrets>;

    /// Returns true if a correction may begin now: the program is not shutting down, and its Lease is fresh.
    fn may_begin(&self) -> bool;

    /// Returns where the requests go, and which of their credentials is missing.
    fn destinations(&self, requests: &dyn Requests) -> Destinations;

    /// Acquires probes of these hosts, as far as they are unresponsive.
    ///
    /// # Errors
    /// Returns the end of the delay that a host asked for.
    fn take_probes(&self, hosts: &[String], now: Moment) -> Result<Probes, Moment>;

    /// Returns the Secrets of the target that changed since the last call.
    fn take_secret_change(&mut self) -> SecretChange;
}
