//! What is written of an object's verdict, when, and what becomes of it.
//!
//! It must not know how a write is done.

use drift_model::condition::{Condition, Standing, StatusFields, Verdict};
use drift_model::moment::Moment;
use drift_model::object::LeanObject;

use super::{Believed, NextWrite, Owing, Track, stands_true};
use crate::core::announcement::{Announcement, announce};
use crate::core::urgency::{Definite, LastDefinite, Urgency, is_change, quiet_bucket, weigh};
use crate::core::write_attempts::{AFTER_LOST_RACES, WriteOutcome};

/// A write that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunWrite {
    /// The condition to write.
    pub condition: Condition,
    /// The fields beside the conditions to write with it.
    pub fields: StatusFields,
    /// What people are told once it is written.
    pub announcement: Option<Announcement>,
}

impl Track {
    /// What is to be written now.
    pub fn next_write(&mut self, now: Moment) -> NextWrite {
        let Some(Believed { verdict, .. }) = self.believed.as_deref() else { return NextWrite::Nothing };
        if self.object.deleting || self.writes.is_under_way() {
            return NextWrite::Nothing;
        }
        let is_change = is_change(self.object.conditions.observed(), verdict);
        if !is_change {
            self.owing = None;
            self.disturbed = false;
            self.quiet.take_if(|quiet| quiet.is_full(now));
            if self.unpublished().is_empty() {
                self.believed.take_if(|believed| believed.published.is_empty());
                self.writes.reset();
                return NextWrite::Nothing;
            }
        }
        let urgency = match is_change {
            true => weigh(self.standing.as_ref(), self.last_definite().as_ref(), verdict, self.disturbed),
            // The controller waits for no field that is published.
            false => Urgency::Quiet,
        };
        let allowed = match urgency {
            Urgency::News => self.writes.ready_at(),
            Urgency::Quiet | Urgency::Slow if is_change => self.writes.ready_at().max(self.quiet_at(now)),
            Urgency::Quiet | Urgency::Slow => self.writes.fields_ready_at().max(self.quiet_at(now)),
        };
        if allowed > now { NextWrite::NotBefore(allowed) } else { NextWrite::Write(verdict.clone(), urgency) }
    }

    /// Notes that the write that [`Track::next_write`] gave begins.
    pub fn begin_write(&mut self, verdict: &Verdict, urgency: Urgency, moment: Moment, wall: &str) -> BegunWrite {
        if urgency != Urgency::News {
            // `next_write` saw a token a moment ago; should it be gone, one write too many harms nobody.
            let _ = self.quiet.get_or_insert_with(|| Box::new(quiet_bucket(moment))).take(moment);
        }
        let condition = verdict.to_condition(self.object.conditions.observed(), wall);
        let alone = self.writes.fields_are_refused() && is_change(self.object.conditions.observed(), verdict);
        let fields = if alone { StatusFields::NONE } else { self.unpublished() };
        self.writes.begin(condition.clone(), fields.clone());
        let announcement = announce(self.last_definite().as_ref().map(Definite::reason), verdict.reason);
        BegunWrite { condition, fields, announcement }
    }

    /// Whether the last write was the fifth in a row that lost its race.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.writes.gave_up()
    }

    /// Whether a refused write is news for people; it counts as told with this.
    pub fn refusal_is_news(&mut self) -> bool {
        self.writes.refusal_is_news()
    }

    /// Takes in how a write ended.
    pub fn finish_write(&mut self, outcome: &WriteOutcome, now: Moment) {
        let sent_fields = self.writes.sends_fields();
        self.writes.finish(outcome, now);
        if *outcome == WriteOutcome::Written && sent_fields && !self.unpublished().is_empty() {
            // The API server drops what the kind's schema does not have: it would be written for ever.
            self.believed.iter_mut().for_each(|believed| believed.accepted = true);
        }
        if self.writes.gave_up() {
            self.believed = None;
            self.schedule.want_after(AFTER_LOST_RACES, now);
        }
    }

    /// When a write that only informs people may be made.
    fn quiet_at(&self, now: Moment) -> Moment {
        self.quiet.as_ref().map_or(now, |quiet| quiet.available_at(now))
    }

    fn last_definite(&self) -> Option<Definite> {
        self.last_definite.find(self.standing.as_ref())
    }

    /// Another verdict comes to stand.
    fn keep_definite(&mut self) {
        if let LastDefinite::Standing = self.last_definite {
            self.last_definite = LastDefinite::Former(Box::new(self.last_definite()));
        }
    }

    /// The fields that do not stand as they are to be published.
    fn unpublished(&self) -> StatusFields {
        // Most targets publish nothing, and then nobody looks at the object.
        let awaits = |believed: &&Believed| !believed.accepted && !believed.published.is_empty();
        let believed = self.believed.as_deref().filter(awaits);
        believed.map(|believed| believed.published.missing_in(&self.object.view.open())).unwrap_or_default()
    }

    /// Somebody else's hand on our condition is put right by a poll, not by this memory: a prompt one, as long as the
    /// bucket lasts, since without a verdict nothing is corrected. A foreign True is polled at once in any case: the
    /// controller may believe it.
    pub(super) fn note_foreign_write(&mut self, object: &LeanObject, now: Moment) {
        let (before, after) = (self.object.conditions.observed(), object.conditions.observed());
        if before == after || self.writes.explains(after) {
            let is_definite = after.and_then(Standing::read).is_some_and(|standing| Definite::of(&standing).is_some());
            if is_definite {
                self.last_definite = LastDefinite::Standing;
            } else {
                self.keep_definite();
            }
            return;
        }
        self.keep_definite();
        self.disturbed = true;
        self.believed = None;
        if stands_true(object) {
            // Nobody here said so: it is not vouched for until this process has looked.
            self.owing = self.owing.or(Some(Owing::ForItself));
        }
        let when = if stands_true(object) { now } else { self.quiet_at(now) };
        self.schedule.want_promptly(when);
    }
}
