//! Attempts for one object that may still delay the next ones.
//!
//! Most objects have none, so they are stored separately and only while they count.

use std::collections::VecDeque;
use std::time::Duration;

use drift_api::timing::moment::Moment;

use crate::engine::correction_limits::RETRY_EVERY;
use crate::engine::corrections::correction::AskedFor;

/// Start times are needed for this long at most: after the attempts of a target are used up, one more
/// follows each hour.
const REMEMBERED_FOR: Duration = RETRY_EVERY;

/// Attempts for one object and their outcomes.
#[derive(Clone, Debug)]
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

/// Record of an object without attempts.
pub(super) static NOTHING: Tried = Tried::NOTHING;

impl Tried {
    pub(super) const NOTHING: Self = Self {
        begun: VecDeque::new(),
        doubtful: 0,
        doubtful_hash: None,
        unstored_hash: None,
        not_before: None,
        deletions_undone: 0,
        undone_hash: None,
        unsent: 0,
        unsent_at: Moment::START,
        unseen_job: None,
        awaited_job: None,
        hastened: false,
    };

    /// Returns true if no part of it can cause a delay any more.
    pub(super) fn is_past(&self, now: Moment) -> bool {
        let Self { begun, doubtful, doubtful_hash, unstored_hash, deletions_undone, unsent, unseen_job, .. } = self;
        let is_settled = (*doubtful, *deletions_undone, *unsent) == (0, 0, 0)
            && (doubtful_hash, unstored_hash) == (&None, &None)
            && unseen_job.is_none()
            && !self.hastened;
        let waits = [self.not_before, self.awaited_job].into_iter().flatten().any(|until| until > now);
        is_settled && !waits && begun.back().is_none_or(|begun| now.is_past(*begun, REMEMBERED_FOR))
    }

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
