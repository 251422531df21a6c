//! The state that one target shares with the others of its program.

use drift_api::identity::{Claimant, Uid};
use drift_api::timing::moment::Moment;

use crate::engine::input::Postponed;
use crate::engine::poll::request::Request;

/// The part of one target in what all targets of the program share. An engine asks it while it decides; nothing waits.
pub trait SharedState {
    /// Takes an object in as a claimant. Returns the target's other objects whose rights may have changed.
    fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid>;

    /// Drops an object. Returns the target's other objects whose rights may have changed.
    fn remove(&mut self, uid: &Uid) -> Vec<Uid>;

    /// Returns true if the object, as that claimant, has the external resource that it names.
    fn has(&self, uid: &Uid, claimant: &Claimant) -> bool;

    /// Returns the object, of whatever target, that has the resource of this identity in the target's scope.
    fn holder(&self, identity: &str) -> Option<Uid>;

    /// Notes that the target's list is read: its objects are those that were inserted.
    fn note_listed(&mut self);

    /// Returns until when a poll that would send this request has to wait for its host.
    fn postponed(&self, request: &Request, now: Moment) -> Option<Postponed>;

    /// Returns when the target's rate allows the next read; `now` where it does already.
    fn next_read_at(&self, now: Moment) -> Moment;

    /// Counts a read against the target's rate.
    fn take_read(&mut self, now: Moment);

    /// Returns the moment in the lane of slow writes that the next one gets.
    fn reserve_slow_write(&mut self, now: Moment) -> Moment;

    /// Gives back a moment of that lane, for others.
    fn give_back_slow_write(&mut self, slot: Moment);
}
