//! What was tried for one object that may still delay what comes.
//!
//! Hardly any object has any of it, so it is kept apart, and no longer than it counts.

use std::collections::VecDeque;
use std::time::Duration;

use drift_api::timing::moment::Moment;

use crate::engine::correction_limits::RETRY_EVERY;
use crate::engine::corrections::correction::AskedFor;

/// When a correction began is asked for no longer than this: the attempts of a target that are used up are followed by one more
/// after an hour.
const REMEMBERED_FOR: Duration = RETRY_EVERY;

/// What was tried for one object, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    /// When corrections began, oldest first.
    pub(super) begun: VecDeque<Moment>,
    /// Corrections in a row whose outcome is open.
    pub(super) doubtful: u32,
    /// What the requests were made of whose outcome is open.
    pub(super) doubtful_hash: Option<u64>,
    /// What the requests were made of that created something whose answer could not be stored.
    pub(super) unstored_hash: Option<u64>,
    /// Not before, since the external system asked for it.
    pub(super) not_before: Option<Moment>,
    /// Deletions in a row that were answered, and left the resource there.
    pub(super) deletions_undone: u32,
    /// Corrections in a row that could not be sent.
    pub(super) unsent: u32,
    /// The time at which the last of those ended.
    pub(super) unsent_at: Moment,
    /// What a Job was begun for whose end was not seen.
    pub(super) unseen_job: Option<AskedFor>,
    /// Until then another Job of the object is left to come to its end.
    pub(super) awaited_job: Option<Moment>,
}

/// That of an object for which nothing was tried.
pub(super) static NOTHING: Tried = Tried::NOTHING;

impl Tried {
    pub(super) const NOTHING: Self = Self {
        begun: VecDeque::new(),
        doubtful: 0,
        doubtful_hash: None,
        unstored_hash: None,
        not_before: None,
        deletions_undone: 0,
        unsent: 0,
        unsent_at: Moment::START,
        unseen_job: None,
        awaited_job: None,
    };

    /// Returns true if nothing of it can delay anything any more.
    pub(super) fn is_past(&self, now: Moment) -> bool {
        let Self { begun, doubtful, doubtful_hash, unstored_hash, deletions_undone, unsent, unseen_job, .. } = self;
        let is_settled = (*doubtful, *deletions_undone, *unsent) == (0, 0, 0)
            && (doubtful_hash, unstored_hash) == (&None, &None)
            && unseen_job.is_none();
        let waits = [self.not_before, self.awaited_job].into_iter().flatten().any(|until| until > now);
        is_settled && !waits && begun.back().is_none_or(|begun| now.is_past(*begun, REMEMBERED_FOR))
    }

    /// No doubt is left.
    pub(super) fn end_doubt(&mut self) {
        self.forget_doubt();
        self.unsent = 0;
        self.unstored_hash = None;
        self.not_before = None;
    }

    pub(super) fn forget_doubt(&mut self) {
        self.doubtful = 0;
        self.doubtful_hash = None;
        self.unseen_job = None;
    }
}
