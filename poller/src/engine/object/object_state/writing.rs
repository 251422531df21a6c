//! Writes of an object's verdict.

use drift_api::condition::{ConditionStatus, CurrentVerdict, StatusFields, Verdict, readiness_writes};
use drift_api::names::OBSERVED_GENERATION;
use drift_api::object::LeanObject;
use drift_api::object::status_patch::condition_patch;
use drift_api::timing::moment::Moment;
use drift_api::timing::quiet_budget::QuietBudget;
use json_patch::Patch;

use super::{ObjectState, Owing, stands_true};
use crate::engine::writes::announcement::announce;
use crate::engine::writes::news::{is_change, is_news};
use crate::engine::writes::removals::Removals;
use crate::engine::writes::write_attempts::{AFTER_LOST_RACES, Sent, WriteAttempts, WriteOutcome};

/// A write of a verdict. The API server takes it only if the object still has the state that was judged.
#[derive(Clone, Debug)]
pub struct Update {
    /// Object as it was judged.
    pub object: LeanObject,
    /// Patch of its status.
    pub patch: Patch,
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
#[derive(Debug, Default)]
pub(super) struct Writing {
    /// Verdict to write, kept until it is written, and always if it publishes fields.
    pub(super) believed: Option<Box<Believed>>,
    pub(super) attempts: WriteAttempts,
    /// Budget for writes that only inform people. Changes of the status draw on it, too.
    quiet: QuietBudget,
    flapping: Flapping,
    /// Removals of the verdict by other writers.
    removals: Removals,
    /// Last verdict of ours that was not Unknown, if another one replaced it on the object.
    former_definite: Option<Box<CurrentVerdict>>,
    /// Cause of the missing verdict, see [`ObjectState::owes_verdict`].
    pub(super) owing: Option<Owing>,
}

/// A verdict whose status keeps changing: another writer undoes corrections, or the external system comes and goes.
/// It begins when a change of the status meets an empty budget, and ends when the budget is full again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Flapping {
    #[default]
    No,
    Unreported,
    Reported,
}

impl Writing {
    pub(super) fn owing(owing: Option<Owing>) -> Self {
        Self { owing, ..Self::default() }
    }

    /// Returns true while the verdict keeps changing.
    pub(super) fn is_flapping(&self, now: Moment) -> bool {
        self.flapping != Flapping::No && !self.quiet.is_full(now)
    }

    /// Takes in a change of the confirmed status.
    pub(super) fn note_change(&mut self, now: Moment) {
        if !self.is_flapping(now) {
            let is_empty = self.quiet.available_at(now) > now;
            self.flapping = if is_empty { Flapping::Unreported } else { Flapping::No };
        }
    }

    /// Takes in a change that is not confirmed yet: the written status of a flapping object calms down long before the
    /// object does.
    pub(super) fn note_unconfirmed(&mut self, now: Moment) {
        if self.is_flapping(now) {
            self.quiet.spend(now);
        }
    }
}

fn is_definite(current: &CurrentVerdict) -> bool {
    current.reason.status() != ConditionStatus::Unknown
}

/// The next write of an object.
pub(super) struct Due {
    pub(super) verdict: Verdict,
    pub(super) at: Moment,
    /// True if a program or a person waits for it, so that it uses no budget.
    is_news: bool,
}

impl ObjectState {
    /// Drops the confirmed verdict, so that another poll confirms a new one.
    pub(super) fn disbelieve(&mut self) -> Option<Box<Believed>> {
        self.writing.believed.take()
    }

    /// Returns true if its verdict keeps changing.
    #[must_use]
    pub fn is_flapping(&self, now: Moment) -> bool {
        self.writing.is_flapping(now)
    }

    /// Returns true if the flapping was not reported yet, and marks it as reported.
    pub fn flapping_is_news(&mut self) -> bool {
        let is_news = self.writing.flapping == Flapping::Unreported;
        if is_news {
            self.writing.flapping = Flapping::Reported;
        }
        is_news
    }

    /// Returns true if other writers removed the verdict too often and that was not reported yet, and marks it as reported.
    pub fn removals_are_news(&mut self) -> bool {
        self.writing.removals.are_news()
    }

    /// Returns the time of the next write; `None` if there is nothing to write.
    pub fn next_write(&mut self, now: Moment) -> Option<Moment> {
        self.due(now).map(|due| due.at)
    }

    pub(super) fn due(&mut self, now: Moment) -> Option<Due> {
        if !self.is_polled() || self.is_of_newer_version || self.writing.attempts.is_under_way() {
            return None;
        }
        let Some(believed) = &self.writing.believed else { return self.due_readiness(now) };
        let is_change = is_change(self.object.conditions.observed(), &believed.verdict);
        if !is_change && self.note_current() {
            return None;
        }
        self.due_write(is_change, now)
    }

    /// Returns the write of the readiness that a changed correction record causes without a new verdict.
    fn due_readiness(&self, now: Moment) -> Option<Due> {
        let current = self.object.conditions.observed().filter(|_| self.settings.ready);
        let verdict = current.and_then(Verdict::said_by).filter(|verdict| verdict.tag.ready)?;
        let at = self.writing.attempts.fields_ready_at().max(self.quiet_at(now));
        (!self.unready(&verdict, "").is_empty()).then_some(Due { verdict, at, is_news: false })
    }

    /// Returns the changes of the conditions of `ready: true` that a verdict at this time causes.
    fn unready(&self, verdict: &Verdict, wall: &str) -> StatusFields {
        let is_left = !verdict.tag.ready && self.current.as_ref().is_some_and(|current| current.tag.ready);
        // Most targets write no readiness, and no condition is parsed for them.
        if !verdict.tag.ready && !is_left {
            return StatusFields::NONE;
        }
        let conditions = &self.object.conditions;
        let entries = readiness_writes(verdict, conditions, self.settings.has_action_for(verdict), wall);
        let written = conditions.readiness.as_ref().and_then(|entries| entries.observed_generation);
        let due = verdict.generation.filter(|_| verdict.tag.ready);
        let fields =
            (due.is_some_and(|due| written != Some(due)) || is_left).then(|| (OBSERVED_GENERATION, due.into()));
        fields.into_iter().collect::<StatusFields>().with_entries(entries)
    }

    /// Records that the current verdict is correct. Returns true if the published fields are correct too, so that there
    /// is nothing to write.
    fn note_current(&mut self) -> bool {
        self.disturbed = false;
        let said = self.writing.believed.as_ref().map(|believed| self.unready(&believed.verdict, ""));
        let is_published = self.unpublished().is_empty() && said.is_none_or(|unready| unready.is_empty());
        self.writing.owing = None;
        if is_published {
            self.writing.believed.take_if(|believed| believed.published.is_empty());
            self.writing.attempts.reset();
        }
        is_published
    }

    /// Returns the write of the confirmed verdict. `is_change` is true if the current verdict differs.
    fn due_write(&self, is_change: bool, now: Moment) -> Option<Due> {
        let Writing { believed, attempts, .. } = &self.writing;
        let verdict = &believed.as_ref()?.verdict;
        // The controller does not wait for published fields.
        let is_news = is_change && is_news(self.current.as_ref(), self.last_definite(), verdict, self.disturbed);
        let at = match (is_news, is_change) {
            (true, _) => attempts.ready_at(),
            (false, true) => attempts.ready_at().max(self.quiet_at(now)),
            (false, false) => attempts.fields_ready_at().max(self.quiet_at(now)),
        };
        Some(Due { verdict: verdict.clone(), at, is_news })
    }

    /// Begins the write that may begin now, if there is one.
    pub fn begin_write(&mut self, now: Moment, wall: &str) -> Option<Update> {
        let Due { verdict, is_news, .. } = self.due(now).filter(|due| due.at <= now)?;
        if !is_news || self.shown_status().is_some_and(|status| status != verdict.status()) {
            self.writing.quiet.spend(now);
        }
        let condition = verdict.to_condition(self.object.conditions.observed(), wall);
        let alone =
            self.writing.attempts.fields_are_refused() && is_change(self.object.conditions.observed(), &verdict);
        let mut fields = StatusFields::NONE;
        if !alone {
            fields = self.unpublished();
            fields.extend(self.unready(&verdict, wall));
        }
        let patch = condition_patch(&self.object, self.object.generation, &condition, &fields);
        // The change of a resource that is being deleted is no incident.
        let announcement = announce(self.last_definite().map(|before| before.reason), verdict.reason)
            .filter(|_| !self.object.deleting);
        self.writing.attempts.begin(Sent { condition, fields, announcement });
        Some(Update { object: self.object.clone(), patch })
    }

    /// Returns the status that the object shows for its present spec.
    pub(super) fn shown_status(&self) -> Option<ConditionStatus> {
        let basis = self.basis();
        self.current.as_ref().filter(|current| basis.is_spoken_of_by(current)).map(|current| current.reason.status())
    }

    /// Returns true if the last write was the fifth in a row that lost its race.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.writing.attempts.gave_up()
    }

    /// Returns true if a refused write was not reported yet, and marks it as reported.
    pub fn refusal_is_news(&mut self) -> bool {
        self.writing.attempts.refusal_is_news()
    }

    /// Takes in the result of the running write. Returns its content if it was written.
    pub fn finish_write(&mut self, outcome: &WriteOutcome, now: Moment) -> Option<Sent> {
        let written = self.writing.attempts.finish(outcome, now);
        if written.as_ref().is_some_and(|sent| !sent.fields.is_empty()) && !self.unpublished().is_empty() {
            // The API server drops fields that the kind's schema does not contain. Retries would never end.
            self.writing.believed.iter_mut().for_each(|believed| believed.accepted = true);
        }
        if self.writing.attempts.gave_up() {
            self.disbelieve();
            self.schedule.want_after(AFTER_LOST_RACES, now);
        }
        written
    }

    /// Returns the time of the next write that only informs people.
    fn quiet_at(&self, now: Moment) -> Moment {
        self.writing.quiet.available_at(now)
    }

    /// Returns the published fields that the object does not have yet.
    fn unpublished(&self) -> StatusFields {
        // Most targets publish nothing, so the object is not opened.
        let awaits = |believed: &&Believed| !believed.accepted && !believed.published.is_empty();
        let believed = self.writing.believed.as_deref().filter(awaits);
        believed.map(|believed| believed.published.missing_in(&self.object.view.open())).unwrap_or_default()
    }

    /// Returns the last verdict of ours that was not Unknown. Returning to it is no news.
    fn last_definite(&self) -> Option<&CurrentVerdict> {
        let current = self.current.as_ref().filter(|current| is_definite(current) && !self.disturbed);
        self.writing.former_definite.as_deref().or(current)
    }

    /// Keeps the last definite verdict before another one replaces it.
    fn keep_definite(&mut self) {
        if self.writing.former_definite.is_none() {
            self.writing.former_definite = self.last_definite().cloned().map(Box::new);
        }
    }

    /// Takes in the condition of a newer state of the object. A poll restores it after a foreign write, not this memory.
    /// The poll is prompt while the budget allows, because nothing is corrected without a verdict. A foreign True always
    /// causes an immediate poll, because the controller may act on it.
    pub(super) fn note_condition(&mut self, object: &LeanObject, current: Option<&CurrentVerdict>, now: Moment) {
        let (before, after) = (self.object.conditions.observed(), object.conditions.observed());
        if before == after || self.writing.attempts.explains(after) {
            match current.filter(|current| is_definite(current)) {
                Some(_) => self.writing.former_definite = None,
                None => self.keep_definite(),
            }
            return;
        }
        if self.current.is_some() && after.is_none() {
            self.writing.removals.note(now);
        }
        self.keep_definite();
        self.disturbed = true;
        self.disbelieve();
        if stands_true(object) {
            // The verdict is not ours, so it is not attested until this process has polled.
            self.writing.owing.get_or_insert(Owing::ForItself);
        }
        let when = if stands_true(object) { now } else { self.quiet_at(now) };
        self.schedule.want_promptly(when);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Writes a change of the status. Returns true if it is reported as flapping.
    fn is_reported(writing: &mut Writing, second: u64) -> bool {
        let now = Moment::from_start(Duration::from_secs(second));
        writing.note_change(now);
        writing.quiet.spend(now);
        let is_news = writing.flapping == Flapping::Unreported;
        if is_news {
            writing.flapping = Flapping::Reported;
        }
        is_news
    }

    #[test]
    fn the_seventh_change_in_a_minute_is_reported_as_flapping_until_it_rests() {
        let mut writing = Writing::default();
        let reported =
            |writing: &mut Writing, from: u64| (0..20).filter(|step| is_reported(writing, from + step)).count();
        assert_eq!((0..6).filter(|step| is_reported(&mut writing, *step)).count(), 0);
        assert!(is_reported(&mut writing, 6));
        assert_eq!(reported(&mut writing, 7), 0, "reported once");
        let after = |minutes: u64| Moment::from_start(Duration::from_secs(26 + 60 * minutes));
        assert!(writing.is_flapping(after(5)) && !writing.is_flapping(after(6)));
        assert_eq!(reported(&mut writing, 1000), 1, "and once more after a rest");
    }

    #[test]
    fn a_change_a_minute_is_no_flapping() {
        let mut writing = Writing::default();
        assert!((0..500).all(|minute| !is_reported(&mut writing, 60 * minute)));
    }
}
