//! What is written of an object's verdict, when, and what becomes of it.
//!
//! It must not know how a write is done.

use drift_model::condition::{Condition, Standing, Verdict};
use drift_model::moment::Moment;
use drift_model::object::LeanObject;

use super::{NextWrite, Owing, Track, stands_true};
use crate::core::announcement::{Announcement, announce};
use crate::core::urgency::{Definite, Urgency, is_change, weigh};
use crate::core::write_attempts::{AFTER_LOST_RACES, WriteOutcome};

/// A write that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunWrite {
    /// The condition to write.
    pub condition: Condition,
    /// What people are told once it is written.
    pub announcement: Option<Announcement>,
}

impl Track {
    /// What is to be written now.
    pub fn next_write(&mut self, now: Moment) -> NextWrite {
        let Some((basis, verdict)) = &self.believed else { return NextWrite::Nothing };
        if self.object.deleting || *basis != self.basis() || self.writes.is_under_way() {
            return NextWrite::Nothing;
        }
        if !is_change(self.object.conditions.observed(), verdict) {
            self.owing = None;
            self.disturbed = false;
            self.writes.reset();
            return NextWrite::Nothing;
        }
        let urgency = weigh(self.standing().as_ref(), self.last_definite.as_ref(), verdict, self.disturbed);
        let allowed = match urgency {
            Urgency::News => self.writes.ready_at(),
            Urgency::Quiet | Urgency::Slow => self.writes.ready_at().max(self.quiet.available_at(now)),
        };
        if allowed > now { NextWrite::NotBefore(allowed) } else { NextWrite::Write(verdict.clone(), urgency) }
    }

    /// Notes that the write that [`Track::next_write`] gave begins.
    pub fn begin_write(&mut self, verdict: &Verdict, urgency: Urgency, moment: Moment, wall: &str) -> BegunWrite {
        if urgency != Urgency::News {
            // `next_write` saw a token a moment ago; should it be gone, one write too many harms nobody.
            let _ = self.quiet.take(moment);
        }
        let condition = verdict.to_condition(self.object.conditions.observed(), wall);
        self.writes.begin(condition.clone());
        let announcement = announce(self.last_definite.as_ref().map(Definite::reason), verdict.reason);
        BegunWrite { condition, announcement }
    }

    /// Whether the last write was the fifth in a row that lost its race.
    #[must_use]
    pub const fn has_given_up(&self) -> bool {
        self.writes.gave_up()
    }

    /// Whether a refused write is news for people; it counts as told with this.
    pub const fn refusal_is_news(&mut self) -> bool {
        self.writes.refusal_is_news()
    }

    /// Takes in how a write ended.
    pub fn finish_write(&mut self, outcome: &WriteOutcome, now: Moment) {
        self.writes.finish(outcome, now);
        if self.writes.gave_up() {
            self.believed = None;
            self.schedule.want_after(AFTER_LOST_RACES, now);
        }
    }

    /// Somebody else's hand on our condition is put right by a poll, not by this memory: a prompt one, as long as the
    /// bucket lasts, since without a verdict nothing is corrected. A foreign True is polled at once in any case: the
    /// controller may believe it.
    pub(super) fn note_foreign_write(&mut self, object: &LeanObject, now: Moment) {
        let (before, after) = (self.object.conditions.observed(), object.conditions.observed());
        if before == after || self.writes.explains(after) {
            self.last_definite =
                after.and_then(Standing::read).as_ref().and_then(Definite::of).or(self.last_definite.take());
            return;
        }
        self.disturbed = true;
        self.believed = None;
        if stands_true(object) {
            // Nobody here said so: it is not vouched for until this process has looked.
            self.owing = self.owing.or(Some(Owing::ForItself));
        }
        let when = if stands_true(object) { now } else { self.quiet.available_at(now) };
        self.schedule.want_promptly(when);
    }
}
