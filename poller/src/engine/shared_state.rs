//! The state that one target shares with the others of its program.

use drift_api::timing::moment::Moment;

use crate::engine::input::Postponed;
use crate::engine::poll::request::Request;

/// The part of one target in what all targets of the program share. An engine asks it while it decides; nothing waits.
pub trait SharedState {
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
