//! The state that one target shares with the others of its program.

use drift_api::attestation::Attestation;
use drift_api::condition::SecretMarks;
use drift_api::identity::{Claimant, ObjectRef, Rights, Uid};
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;

use crate::engine::rendering::secrets::SecretChange;

/// The part of one target in what all targets of the program share. An engine asks it while it decides; nothing waits.
pub trait SharedState {
    /// Takes an object in as a claimant. Returns the target's other objects whose rights may have changed.
    fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid>;

    /// Drops an object. Returns the target's other objects whose rights may have changed.
    fn remove(&mut self, uid: &Uid) -> Vec<Uid>;

    /// Takes the object in with the claim of what it wants. Returns false if it does not have that at this moment.
    fn claim(&mut self, uid: &Uid, claimant: Claimant) -> bool;

    /// Returns what the object may do as that claimant.
    fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights;

    /// Returns true if a target sees the object, so that what it claims is known.
    fn sees(&self, object: &ObjectRef) -> bool;

    /// Notes that the target's list is read: its objects are those that were inserted.
    fn note_listed(&mut self);

    /// Returns true if every object is known that has to be, in the target's scope, before one claims something or, if
    /// `deletes`, before something is deleted.
    fn is_scope_complete(&self, deletes: bool) -> bool;

    /// Returns the targets that the scope waits for, in words; `None` if it is complete.
    fn awaited(&self, deletes: bool) -> Option<String>;

    /// Gives the object what it is corrected for, as that claimant, also where it leaves its target meanwhile.
    fn hold(&mut self, uid: &Uid, claimant: Claimant);

    /// Lets go of what the object was given. Others may have it from now on.
    fn release(&mut self, uid: &Uid);

    /// Begins work on an object. Returns false while something else works on it, or while nothing may begin.
    fn begin(&mut self, uid: &Uid) -> bool;

    /// Ends work on an object.
    fn end(&mut self, uid: &Uid);

    /// Leaves the others: the target works by another text, or is gone. Nothing but `release` and `end` follows.
    fn leave(&mut self);

    /// Returns the poller's attestation of the target; `None` while there is none.
    fn attestation(&self, now: Moment) -> Option<Attestation>;

    /// Returns true if the poller attests the verdict on this object.
    fn attests(&self, object: &ObjectId, now: Moment) -> bool;

    /// Returns the versions of the object's secrets that cannot be read back.
    fn secrets_of(&self, object: &LeanObject) -> Option<SecretMarks>;

    /// Returns which Secrets of the target changed since this was asked last.
    fn take_secret_change(&mut self) -> SecretChange;
}
