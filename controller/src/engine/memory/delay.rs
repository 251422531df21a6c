//! Delay of the next correction of one object.
//!
//! An ineffective correction, a war with another writer and an outcome in doubt share one backoff series. A correction
//! that could not be sent does not count there, because no system received a request. It has a short series of its own,
//! which ends as soon as the missing input may be present.

mod tried;

use std::time::Duration;

use drift_api::timing::backoff::Series;
use drift_api::timing::moment::Moment;

use crate::engine::corrections::{Action, AskedFor, Correction, Doubt, Held, Outcome, Uncertainty};
use tried::Tried;

/// Corrections of an object count towards its delay for this long. It is twice the longest delay, so that a war that
/// has slowed down to the longest delay still counts as one.
const WINDOW: Duration = Duration::from_secs(600);

/// At most this many corrections for earlier specs count, which makes 18 seconds: an edit is no war, and its author
/// waits for the result. Without any pause, an object that is edited all the time would use up the target's corrections
/// per minute and block other objects.
const MOST_FOR_FORMER_SPECS: u32 = 4;

/// Number of start times that are kept. It exceeds the number of delays in the series, so that dropping older
/// ones changes nothing.
const KEPT_ATTEMPTS: usize = 8;

/// Delay of the next correction of one object.
#[derive(Clone, Debug, Default)]
pub struct Delay {
    /// Time at which this process first saw the object.
    first_seen: Moment,
    /// Time of the last edit or deletion of the object.
    edited: Moment,
    tried: Tried,
}

impl Delay {
    /// Creates a delay without attempts.
    #[must_use]
    pub fn new(now: Moment) -> Self {
        Self { first_seen: now, ..Self::default() }
    }

    /// Records the start of a correction.
    pub fn begin(&mut self, now: Moment) {
        let begun = &mut self.tried.begun;
        begun.push_back(now);
        while begun.len() > KEPT_ATTEMPTS {
            begun.pop_front();
        }
    }

    /// Removes the last start, because the correction was called off before anything was sent.
    pub fn call_off(&mut self) {
        self.tried.begun.pop_back();
    }

    /// Delays corrections until this time, as the external system requested.
    pub fn hold_until(&mut self, until: Moment) {
        let tried = &mut self.tried;
        tried.not_before = tried.not_before.max(Some(until));
    }

    /// Delays corrections until this time, because another Job of the object is still running.
    pub fn await_job(&mut self, until: Moment) {
        self.tried.awaited_job = Some(until);
        self.hold_until(until);
    }

    /// Returns the reason why a correction may not begin yet.
    #[must_use]
    pub fn awaits(&self, now: Moment) -> Held {
        if self.tried.awaited_job.is_some_and(|until| now < until) { Held::JobUnfinished } else { Held::Delayed }
    }

    /// Records the end of a correction.
    pub fn finish(&mut self, correction: &Correction, outcome: &Outcome, now: Moment) {
        if outcome.sent_nothing() {
            // The correction does not count, and earlier doubts remain.
            self.call_off();
            let tried = &mut self.tried;
            tried.unsent = tried.unsent.saturating_add(1);
            tried.unsent_at = now;
            return;
        }
        let tried = &mut self.tried;
        tried.unsent = 0;
        tried.hastened = false;
        match outcome {
            Outcome::Doubtful(_, Uncertainty { why, retry_after, .. }) => {
                tried.doubtful = tried.doubtful.saturating_add(1);
                if *why == Doubt::JobUnseen {
                    tried.unseen_job = Some(correction.asked_for());
                }
                if outcome.may_have_written() {
                    tried.doubtful_hash = Some(correction.correct_hash);
                }
                tried.not_before = retry_after.map(|span| now + span);
            }
            Outcome::Underway { retry_after } | Outcome::Halted(_, Uncertainty { retry_after, .. }) => {
                tried.end_doubt();
                tried.not_before = retry_after.map(|span| now + span);
            }
            Outcome::Applied
            | Outcome::AllSkipped
            | Outcome::FoundNothing
            | Outcome::Refused(..)
            | Outcome::AlreadyExists(..)
            | Outcome::Unstored(..) => tried.end_doubt(),
        }
        if matches!(outcome, Outcome::Unstored(..)) && !outcome.changed_nothing() {
            tried.unstored_hash = Some(correction.correct_hash);
        }
        let is_undone = outcome.is_definite() && *outcome != Outcome::Applied;
        if correction.action == Action::Delete && is_undone {
            tried.deletions_undone = tried.deletions_undone.saturating_add(1);
            tried.undone_hash = Some(correction.correct_hash);
        }
    }

    /// Ends the delay after unsent corrections, because the missing input may be present. Returns true if there was
    /// such a delay.
    pub fn send_anew(&mut self) -> bool {
        std::mem::take(&mut self.tried.unsent) > 0
    }

    /// Ends the pause before the next correction, once. It is a courtesy towards other writers, so a person may shorten
    /// it. A doubt, a running Job and a delay that the external system requested remain.
    pub fn hasten(&mut self) {
        self.tried.hastened = true;
    }

    /// Returns true if the last correction could not be sent.
    #[must_use]
    pub fn could_not_send(&self) -> bool {
        self.tried.unsent > 0
    }

    /// Returns the end of the delay after unsent corrections; [`Moment::START`] if there is none.
    #[must_use]
    pub fn unsent_until(&self) -> Moment {
        let Tried { unsent, unsent_at, .. } = &self.tried;
        if *unsent == 0 { Moment::START } else { *unsent_at + Series::NOTHING_SENT.delay(*unsent) }
    }

    /// Ends all doubts after a definite outcome, or once the object is in sync.
    pub fn end_doubt(&mut self) {
        self.tried.end_doubt();
    }

    /// Drops the outcome in doubt, so that the next correction is not its retry.
    pub fn forget_doubt(&mut self) {
        self.tried.forget_doubt();
    }

    /// Records an edit or a deletion of the object, after which earlier attempts count less.
    pub fn note_edit(&mut self, now: Moment) {
        self.edited = now;
        self.tried.unsent = 0;
        self.tried.doubtful = self.tried.doubtful.min(MOST_FOR_FORMER_SPECS);
    }

    /// Returns the time of the last edit, or of the first sight of the object. Earlier events are unknown.
    #[must_use]
    pub fn edited_at(&self) -> Moment {
        self.edited.max(self.first_seen)
    }

    /// Returns true if the last correction's outcome is open, so that what follows is its retry.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.tried.doubtful > 0
    }

    /// Returns true if a Job was created for exactly this request and its end was not seen.
    #[must_use]
    pub fn left_unseen(&self, asked_for: &AskedFor) -> bool {
        self.tried.unseen_job.as_ref() == Some(asked_for)
    }

    /// Returns true if requests with another `correct_hash` are in doubt. The next request would be a different one,
    /// and the external system may have executed the first.
    #[must_use]
    pub fn doubts_another(&self, correct_hash: u64) -> bool {
        self.tried.doubtful_hash.is_some_and(|doubtful| doubtful != correct_hash)
    }

    /// Returns true if requests with this hash created a resource whose name was lost. Each retry would
    /// create another one.
    #[must_use]
    pub fn lost_what_it_made(&self, correct_hash: u64) -> bool {
        self.tried.unstored_hash == Some(correct_hash)
    }

    /// The same for requests with any hash.
    #[must_use]
    pub fn lost_something(&self) -> bool {
        self.tried.unstored_hash.is_some()
    }

    /// Returns the start of the last correction, or the first sight of the object if this process began none.
    #[must_use]
    pub fn last_begun(&self) -> Moment {
        self.tried.begun.back().copied().unwrap_or(self.first_seen)
    }

    /// Returns the earliest start of the next correction. The pause since the last one follows from the largest of
    /// three counts: corrections in the last ten minutes (all for the current spec, a few for earlier ones),
    /// corrections in doubt, and `ineffective` (verified ones that healed nothing). A delay that the external system
    /// requested applies too. A request to [hasten](Self::hasten) ends the pause of all counts but that of doubts.
    #[must_use]
    pub fn ready_at(&self, ineffective: u32, now: Moment) -> Moment {
        let tried = &self.tried;
        let recent = || tried.begun.iter().filter(|begun| !now.is_past(**begun, WINDOW));
        let for_this_spec = recent().filter(|begun| **begun >= self.edited).count();
        let count = for_this_spec.max(recent().count().min(MOST_FOR_FORMER_SPECS as usize));
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(tried.doubtful).max(ineffective);
        let is_hastened = tried.hastened && tried.doubtful == 0;
        let paced = if is_hastened { Moment::START } else { self.last_begun() + Series::CORRECTION.delay(count) };
        tried.not_before.map_or(paced, |not_before| paced.max(not_before))
    }

    /// Returns true if a deletion with these requests was answered and is not done.
    #[must_use]
    pub fn has_undone_deletion(&self, correct_hash: u64) -> bool {
        self.tried.undone_hash == Some(correct_hash)
    }

    /// Returns the earliest start of the next deletion.
    #[must_use]
    pub fn deletion_ready_at(&self, now: Moment) -> Moment {
        self.ready_at(self.tried.deletions_undone, now)
    }
}
