//! Attempts for one object that may still delay the next ones.

use std::collections::VecDeque;

use drift_api::timing::moment::Moment;

use crate::engine::corrections::correction::AskedFor;

/// Attempts for one object and their outcomes.
#[derive(Clone, Debug, Default)]
pub(super) struct Tried {
    /// Start times of corrections, oldest first.
    pub(super) begun: VecDeque<Moment>,
    /// Corrections in a row whose outcome is open.
    pub(super) doubtful: u32,
    /// Hash of the requests whose outcome is open.
    pub(super) doubtful_hash: Option<u64>,
    /// Hash of the requests that created a resource whose response could not be stored.
    pub(super) unstored_hash: Option<u64>,
    /// Earliest next attempt, as the external system requested.
    pub(super) not_before: Option<Moment>,
    /// Deletions in a row that were answered but left the resource in place, or did not find it.
    pub(super) deletions_undone: u32,
    /// Hash of the requests of the last one.
    pub(super) undone_hash: Option<u64>,
    /// Corrections in a row that could not be sent.
    pub(super) unsent: u32,
    /// Time at which the last unsent correction ended.
    pub(super) unsent_at: Moment,
    /// Request of a Job whose end was not seen.
    pub(super) unseen_job: Option<AskedFor>,
    /// End of the wait for another Job of the object.
    pub(super) awaited_job: Option<Moment>,
    /// True if a person asked to end the pause before the next correction.
    pub(super) hastened: bool,
}

impl Tried {
    /// Ends all doubts.
    pub(super) fn end_doubt(&mut self) {
        self.forget_doubt();
        self.unsent = 0;
        self.unstored_hash = None;
        self.not_before = None;
        self.hastened = false;
    }

    pub(super) fn forget_doubt(&mut self) {
        self.doubtful = 0;
        self.doubtful_hash = None;
        self.unseen_job = None;
    }
}
