//! State that one target shares with the other targets of its program.

use drift_api::timing::moment::Moment;

use crate::engine::input::Postponed;
use crate::engine::poll::request::Request;

/// Access of one target to the shared state of all targets. An engine queries it while it decides. No call blocks.
pub trait SharedState {
    /// Returns the delay if a poll with this request must wait for its host.
    fn postponed(&self, request: &Request, now: Moment) -> Option<Postponed>;

    /// Returns the time of the next read by the target's rate; `now` if it is already allowed.
    fn next_read_at(&self, now: Moment) -> Moment;

    /// Counts a read against the target's rate.
    fn take_read(&mut self, now: Moment);
}
