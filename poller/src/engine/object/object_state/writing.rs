//! Writes of an object's verdict.

use drift_api::condition::readiness_writes;
use drift_api::names::OBSERVED_GENERATION;
use drift_api::{Condition, CurrentVerdict, LeanObject, Moment, StatusFields, TokenBucket, Verdict};

use super::{NextWrite, ObjectState, Owing, stands_true};
use crate::engine::writes::announcement::{Announcement, announce};
use crate::engine::writes::urgency::{Definite, LastDefinite, Urgency, is_change, quiet_bucket, weigh};
use crate::engine::writes::write_attempts::{AFTER_LOST_RACES, WriteAttempts, WriteOutcome};

/// A write that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunWrite {
    /// Condition to write.
    pub condition: Condition,
    /// Status fields to write with it.
    pub fields: StatusFields,
    /// Event to send after the write.
    pub announcement: Option<Announcement>,
}

/// Verdict to write. A change of its [`Basis`](crate::engine::judgement::verdict::Basis) drops it.
#[derive(Debug)]
pub(super) struct Believed {
    pub(super) verdict: Verdict,
    /// Fields that are published with it.
    pub(super) published: StatusFields,
    /// True if the fields were written, so that differences come from the API server.
    pub(super) accepted: bool,
}

/// Pending write of one object, and the results of earlier ones.
#[derive(Debug)]
pub(super) struct Writing {
    /// Verdict to write, kept until it is written, and always if it publishes fields.
    pub(super) believed: Option<Believed>,
    pub(super) attempts: WriteAttempts,
    /// Bucket for writes that only inform people; `None` if full.
    quiet: Option<TokenBucket>,
    last_definite: LastDefinite,
    /// Cause of the missing verdict, see [`ObjectState::owes_verdict`].
    pub(super) owing: Option<Owing>,
}

/// State of an object with nothing to write.
static NOTHING: Writing = Writing::NOTHING;

impl Writing {
    const NOTHING: Self = Self {
        believed: None,
        attempts: WriteAttempts::NONE,
        quiet: None,
        last_definite: LastDefinite::CurrentVerdict,
        owing: None,
    };

    pub(super) const fn owing(owing: Owing) -> Self {
        Self { owing: Some(owing), ..Self::NOTHING }
    }

    const fn is_nothing(&self) -> bool {
        let Self { believed, attempts, quiet, last_definite, owing } = self;
        let is_written = believed.is_none() && attempts.are_none() && owing.is_none();
        is_written && quiet.is_none() && matches!(last_definite, LastDefinite::CurrentVerdict)
    }
}

impl ObjectState {
    pub(super) fn writing(&self) -> &Writing {
        self.writing.as_deref().unwrap_or(&NOTHING)
    }

    pub(super) fn writing_mut(&mut self) -> &mut Writing {
        self.writing.get_or_insert_with(|| Box::new(Writing::NOTHING))
    }

    /// Drops the confirmed verdict, so that another poll confirms a new one.
    pub(super) fn disbelieve(&mut self) -> Option<Believed> {
        self.writing.as_mut().and_then(|writing| writing.believed.take())
    }

    /// Returns the next write.
    pub fn next_write(&mut self, now: Moment) -> NextWrite {
        self.writing.take_if(|writing| writing.is_nothing());
        if !self.is_polled() || self.is_of_newer_version || self.writing().attempts.is_under_way() {
            return NextWrite::Nothing;
        }
        let Some(Believed { verdict, .. }) = &self.writing().believed else {
            return self.due_readiness(now);
        };
        let is_change = is_change(self.object.conditions.observed(), verdict);
        if !is_change && self.note_current(now) {
            self.writing.take_if(|writing| writing.is_nothing());
            return NextWrite::Nothing;
        }
        self.due_write(is_change, now)
    }

    /// Returns the write of the readiness that a changed correction record causes without a new verdict.
    fn due_readiness(&self, now: Moment) -> NextWrite {
        let current = self.object.conditions.observed().filter(|_| self.settings.ready);
        let Some(verdict) = current.and_then(Verdict::said_by).filter(|verdict| verdict.tag.ready) else {
            return NextWrite::Nothing;
        };
        if self.unready(&verdict, "").is_empty() {
            return NextWrite::Nothing;
        }
        let allowed = self.writing().attempts.fields_ready_at().max(self.quiet_at(now));
        if allowed > now { NextWrite::NotBefore(allowed) } else { NextWrite::Write(verdict, Urgency::Quiet) }
    }

    /// Returns the changes of the conditions of `ready: true` that a verdict at this time causes.
    fn unready(&self, verdict: &Verdict, wall: &str) -> StatusFields {
        let conditions = &self.object.conditions;
        let entries = readiness_writes(verdict, conditions, self.settings.has_action_for(verdict), wall);
        let written = conditions.readiness.as_ref().and_then(|entries| entries.observed_generation);
        let due = verdict.generation.filter(|_| verdict.tag.ready);
        let is_left = !verdict.tag.ready && self.current().is_some_and(|current| current.tag.ready);
        let fields =
            (due.is_some_and(|due| written != Some(due)) || is_left).then(|| (OBSERVED_GENERATION, due.into()));
        fields.into_iter().collect::<StatusFields>().with_entries(entries)
    }

    /// Records that the current verdict is correct. Returns true if the published fields are correct too, so that there
    /// is nothing to write.
    fn note_current(&mut self, now: Moment) -> bool {
        self.disturbed = false;
        let said = self.writing().believed.as_ref().map(|believed| self.unready(&believed.verdict, ""));
        let is_published = self.unpublished().is_empty() && said.is_none_or(|unready| unready.is_empty());
        let writing = self.writing_mut();
        writing.owing = None;
        writing.quiet.take_if(|quiet| quiet.is_full(now));
        if is_published {
            writing.believed.take_if(|believed| believed.published.is_empty());
            writing.attempts.reset();
        }
        is_published
    }

    /// Returns the write of the confirmed verdict by its urgency. `is_change` is true if the current verdict differs.
    fn due_write(&self, is_change: bool, now: Moment) -> NextWrite {
        let Writing { believed: Some(Believed { verdict, .. }), attempts, .. } = self.writing() else {
            return NextWrite::Nothing;
        };
        let urgency = match is_change {
            true => weigh(self.current().as_ref(), self.last_definite().as_ref(), verdict, self.disturbed),
            // The controller does not wait for published fields.
            false => Urgency::Quiet,
        };
        let allowed = match urgency {
            Urgency::News => attempts.ready_at(),
            Urgency::Quiet if is_change => attempts.ready_at().max(self.quiet_at(now)),
            Urgency::Quiet => attempts.fields_ready_at().max(self.quiet_at(now)),
        };
        if allowed > now { NextWrite::NotBefore(allowed) } else { NextWrite::Write(verdict.clone(), urgency) }
    }

    /// Records the start of the write that [`ObjectState::next_write`] returned.
    pub fn begin_write(&mut self, verdict: &Verdict, urgency: Urgency, moment: Moment, wall: &str) -> BegunWrite {
        if urgency != Urgency::News {
            // `next_write` has just checked the token. One extra write does no harm.
            let _ = self.writing_mut().quiet.get_or_insert_with(|| quiet_bucket(moment)).take(moment);
        }
        let condition = verdict.to_condition(self.object.conditions.observed(), wall);
        let alone =
            self.writing().attempts.fields_are_refused() && is_change(self.object.conditions.observed(), verdict);
        let fields = if alone {
            StatusFields::NONE
        } else {
            let mut fields = self.unpublished();
            fields.extend(self.unready(verdict, wall));
            fields
        };
        self.writing_mut().attempts.begin(condition.clone(), fields.clone());
        let before = self.last_definite();
        // The change of a resource that is being deleted is no incident.
        let announcement = announce(before.as_ref().map(Definite::reason), verdict.reason);
        let announcement = announcement.filter(|_| !self.object.deleting);
        BegunWrite { condition, fields, announcement }
    }

    /// Returns true if the last write was the fifth in a row that lost its race.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.writing().attempts.gave_up()
    }

    /// Returns true if a refused write was not reported yet, and marks it as reported.
    pub fn refusal_is_news(&mut self) -> bool {
        self.writing_mut().attempts.refusal_is_news()
    }

    /// Takes in the result of a write.
    pub fn finish_write(&mut self, outcome: &WriteOutcome, now: Moment) {
        let attempts = &mut self.writing_mut().attempts;
        let sent_fields = attempts.sends_fields();
        attempts.finish(outcome, now);
        if *outcome == WriteOutcome::Written && sent_fields && !self.unpublished().is_empty() {
            // The API server drops fields that the kind's schema does not contain. Retries would never end.
            self.writing_mut().believed.iter_mut().for_each(|believed| believed.accepted = true);
        }
        if self.writing().attempts.gave_up() {
            self.disbelieve();
            self.schedule.want_after(AFTER_LOST_RACES, now);
        }
    }

    /// Returns the time of the next write that only informs people.
    fn quiet_at(&self, now: Moment) -> Moment {
        self.writing().quiet.as_ref().map_or(now, |quiet| quiet.available_at(now))
    }

    fn last_definite(&self) -> Option<Definite> {
        self.writing().last_definite.find(self.current().as_ref())
    }

    /// Keeps the last definite verdict before another one replaces it.
    fn keep_definite(&mut self) {
        if let LastDefinite::CurrentVerdict = self.writing().last_definite {
            self.writing_mut().last_definite = LastDefinite::Former(Box::new(self.last_definite()));
        }
    }

    /// Returns the published fields that the object does not have yet.
    fn unpublished(&self) -> StatusFields {
        // Most targets publish nothing, so the object is not opened.
        let awaits = |believed: &&Believed| !believed.accepted && !believed.published.is_empty();
        let believed = self.writing().believed.as_ref().filter(awaits);
        believed.map(|believed| believed.published.missing_in(&self.object.view.open())).unwrap_or_default()
    }

    /// Handles a foreign write to our condition. A poll restores it, not this memory. The poll is prompt while the
    /// bucket has tokens, because nothing is corrected without a verdict. A foreign True always causes an immediate
    /// poll, because the controller may act on it.
    pub(super) fn note_foreign_write(&mut self, object: &LeanObject, now: Moment) {
        let (before, after) = (self.object.conditions.observed(), object.conditions.observed());
        if before == after || self.writing().attempts.explains(after) {
            let is_definite =
                after.and_then(CurrentVerdict::read).is_some_and(|current| Definite::of(&current).is_some());
            if is_definite {
                self.writing.iter_mut().for_each(|writing| writing.last_definite = LastDefinite::CurrentVerdict);
            } else {
                self.keep_definite();
            }
            return;
        }
        self.keep_definite();
        self.disturbed = true;
        self.disbelieve();
        if stands_true(object) {
            // The verdict is not ours, so it is not attested until this process has polled.
            self.writing_mut().owing.get_or_insert(Owing::ForItself);
        }
        let when = if stands_true(object) { now } else { self.quiet_at(now) };
        self.schedule.want_promptly(when);
    }
}
