//! When the next correction of one object may begin.
//!
//! An ineffective correction, a war with another writer and an outcome in doubt all back off along one series. A correction that
//! could not be sent takes no place on it: nobody was asked, so it waits along a short series of its own, and not at all once what it
//! lacked may be there.

mod tried;

use std::time::Duration;

use drift_api::timing::backoff::Series;
use drift_api::timing::moment::Moment;

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::{AskedFor, Correction};
use crate::engine::corrections::held::Held;
use crate::engine::corrections::outcome::{Doubt, Outcome, Uncertainty};
use tried::{NOTHING, Tried};

/// Corrections of an object count towards its delay for this long: twice the longest delay, so that a war that slowed
/// down to the longest delay is still seen as one.
const WINDOW: Duration = Duration::from_secs(600);

/// So many corrections for specs that the object had before count at the most, which makes 18 seconds: an edit is no war,
/// and whoever makes it waits for it. Without any pause an object that somebody edits without end would use up the
/// corrections that its target may make in a minute, and the others would wait.
const MOST_FOR_FORMER_SPECS: u32 = 4;

/// How many begun corrections are kept: more than the series has delays, so that forgetting older ones changes nothing.
const KEPT_ATTEMPTS: usize = 8;

/// What delays the next correction of one object.
#[derive(Clone, Debug, Default)]
pub struct Delay {
    /// The time at which this process first saw the object.
    first_seen: Moment,
    /// The time at which the object was last edited or deleted.
    edited: Moment,
    /// Boxed: nothing was tried for nearly any of them.
    tried: Option<Box<Tried>>,
}

impl Delay {
    fn tried(&self) -> &Tried {
        self.tried.as_deref().unwrap_or(&NOTHING)
    }

    fn tried_mut(&mut self) -> &mut Tried {
        self.tried.get_or_insert_with(|| Box::new(Tried::NOTHING))
    }

    /// Nothing was corrected yet.
    #[must_use]
    pub fn new(now: Moment) -> Self {
        Self { first_seen: now, ..Self::default() }
    }

    /// A correction begins.
    pub fn begin(&mut self, now: Moment) {
        let begun = &mut self.tried_mut().begun;
        begun.push_back(now);
        while begun.len() > KEPT_ATTEMPTS {
            begun.pop_front();
        }
    }

    /// The correction that began last was called off before anything was sent: it did not count.
    pub fn call_off(&mut self) {
        self.tried_mut().begun.pop_back();
    }

    /// The external system is to be left alone until then.
    pub fn hold_until(&mut self, until: Moment) {
        let tried = self.tried_mut();
        tried.not_before = tried.not_before.max(Some(until));
    }

    /// Another Job of the object has not ended: it is looked at again then.
    pub fn await_job(&mut self, until: Moment) {
        self.tried_mut().awaited_job = Some(until);
        self.hold_until(until);
    }

    /// What a correction waits for that may not begin yet.
    #[must_use]
    pub fn awaits(&self, now: Moment) -> Held {
        if self.tried().awaited_job.is_some_and(|until| now < until) { Held::JobUnfinished } else { Held::Delayed }
    }

    /// A correction came to an end.
    pub fn finish(&mut self, correction: &Correction, outcome: &Outcome, now: Moment) {
        if outcome.sent_nothing() {
            // It did not count, and what was in doubt before is so still.
            self.call_off();
            let tried = self.tried_mut();
            tried.unsent = tried.unsent.saturating_add(1);
            tried.unsent_at = now;
            return;
        }
        let tried = self.tried_mut();
        tried.unsent = 0;
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
            Outcome::Applied | Outcome::AllSkipped | Outcome::Refused(..) | Outcome::Unstored(..) => tried.end_doubt(),
        }
        if matches!(outcome, Outcome::Unstored(..)) && !outcome.changed_nothing() {
            tried.unstored_hash = Some(correction.correct_hash);
        }
        let is_undone = outcome.is_definite() && *outcome != Outcome::Applied;
        if correction.action == Action::Delete && is_undone {
            tried.deletions_undone = tried.deletions_undone.saturating_add(1);
        }
    }

    /// What a correction lacked may be there by now: nothing waits for that any more. Gives whether it was waited for.
    pub fn send_anew(&mut self) -> bool {
        self.tried.as_mut().is_some_and(|tried| std::mem::take(&mut tried.unsent) > 0)
    }

    /// Returns true if the last correction could not be sent.
    #[must_use]
    pub fn could_not_send(&self) -> bool {
        self.tried().unsent > 0
    }

    /// Until when a correction that could not be sent waits; [`Moment::START`] where none does.
    #[must_use]
    pub fn unsent_until(&self) -> Moment {
        let Tried { unsent, unsent_at, .. } = self.tried();
        if *unsent == 0 { Moment::START } else { *unsent_at + Series::NOTHING_SENT.delay(*unsent) }
    }

    /// No doubt is left: a definite outcome came, or the object was seen in sync.
    pub fn end_doubt(&mut self) {
        self.tried.iter_mut().for_each(|tried| tried.end_doubt());
    }

    /// What was tried so long ago that it delays nothing any more takes no room any more.
    pub fn give_room_back(&mut self, now: Moment) {
        self.tried.take_if(|tried| tried.is_past(now));
    }

    #[cfg(test)]
    pub(in crate::engine) const fn has_room_taken(&self) -> bool {
        self.tried.is_some()
    }

    /// What was in doubt was given up: the next correction is no retry of it.
    pub fn forget_doubt(&mut self) {
        self.tried.iter_mut().for_each(|tried| tried.forget_doubt());
    }

    /// The object was edited or deleted: what was tried before says little of what comes now.
    pub fn note_edit(&mut self, now: Moment) {
        self.edited = now;
        if let Some(tried) = &mut self.tried {
            tried.unsent = 0;
            tried.doubtful = tried.doubtful.min(MOST_FOR_FORMER_SPECS);
        }
    }

    /// Returns the time at which the object was last edited, or first seen: what was done to it before that is not known.
    #[must_use]
    pub fn edited_at(&self) -> Moment {
        self.edited.max(self.first_seen)
    }

    /// Returns true if the last correction's outcome is open, so that what follows is its retry.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        self.tried().doubtful > 0
    }

    /// Returns true if a Job was begun for exactly this, and its end was not seen.
    #[must_use]
    pub fn left_unseen(&self, asked_for: &AskedFor) -> bool {
        self.tried().unseen_job.as_ref() == Some(asked_for)
    }

    /// Returns true if requests made of something else than `correct_hash` are in doubt: what follows is another request, and
    /// the external system may have done the first.
    #[must_use]
    pub fn doubts_another(&self, correct_hash: u64) -> bool {
        self.tried().doubtful_hash.is_some_and(|doubtful| doubtful != correct_hash)
    }

    /// Returns true if requests made of this created something that nobody knows by its name: each further one would create another.
    #[must_use]
    pub fn lost_what_it_made(&self, correct_hash: u64) -> bool {
        self.tried().unstored_hash == Some(correct_hash)
    }

    /// The same, whatever it was made of.
    #[must_use]
    pub fn lost_something(&self) -> bool {
        self.tried().unstored_hash.is_some()
    }

    /// Returns the time at which the last correction began; the first sight of the object where this process began none.
    #[must_use]
    pub fn last_begun(&self) -> Moment {
        self.tried().begun.back().copied().unwrap_or(self.first_seen)
    }

    /// Returns the time at which the next correction may begin: the pause since the last, by the largest of the corrections in the last
    /// ten minutes (all for the spec that the object has, a few of those for former ones), those in doubt, and
    /// `ineffective` (verified ones that healed nothing); and what the external system asked for.
    #[must_use]
    pub fn ready_at(&self, ineffective: u32, now: Moment) -> Moment {
        let tried = self.tried();
        let recent = || tried.begun.iter().filter(|begun| !now.is_past(**begun, WINDOW));
        let for_this_spec = recent().filter(|begun| **begun >= self.edited).count();
        let count = for_this_spec.max(recent().count().min(MOST_FOR_FORMER_SPECS as usize));
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(tried.doubtful).max(ineffective);
        let paced = self.last_begun() + Series::CORRECTION.delay(count);
        tried.not_before.map_or(paced, |not_before| paced.max(not_before))
    }

    /// Returns the time at which the next deletion may begin.
    #[must_use]
    pub fn deletion_ready_at(&self, now: Moment) -> Moment {
        self.ready_at(self.tried().deletions_undone, now)
    }
}
