//! State of one object for the poller: its polls, its confirmed verdict, and its writes.
//!
//! A state machine over values. The shell passes inputs and queries the next action. Every result is checked against
//! the state that it began with.

mod polling;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::{ConditionStatus, CurrentVerdict, ObservedReason, TransitionTime};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_api::unwritten::UnwrittenWord;

pub use polling::{BegunPoll, EndedPoll};
pub use writing::Update;

use crate::engine::judgement::verdict::Known;
use crate::engine::judgement::{Basis, Confirmation, Failure, Rendered};
use crate::engine::object::deletion::awaits_absence;
use crate::engine::object::found_objects::Standing;
use crate::engine::object::owed_verdicts::Affair;
use crate::engine::poll::entity_tag::RememberedTag;
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::poll::request::Prepared;
use crate::engine::schedule::poll_settings::PollSettings;
use crate::engine::schedule::{Now, Schedule};
use writing::Writing;

/// Intervals without a complete poll after which the current verdict is too old to keep.
pub const SILENT_INTERVALS: u32 = 3;

/// Maximum time that an object without a current verdict since the start delays the other objects of its target. After
/// that, the obstacle is its own. It is longer than any poll with three tries at the default deadline of ten seconds.
pub const OWED_AT_MOST: Duration = Duration::from_secs(60);

/// Origin of an object in the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// With the first list after a start, possibly among very many objects.
    Listed,
    /// After the first list.
    Later,
}

/// Result of the last poll of an object, as far as it says if the resource is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LatestPoll {
    /// No poll was completed.
    None,
    /// The resource is there.
    Present,
    /// The resource is not there.
    Absent,
    /// The resource cannot be there, so nothing was requested.
    Unasked,
    /// The poll failed.
    Failed,
}

/// Reason why the object has no verdict of this process although the controller might act on its current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owing {
    /// The verdict is from before the start or before an edit of the target. There may be very many such objects, and
    /// the breaker must see them all before any is corrected.
    Since(Moment),
    /// The object came later with a verdict of drift or of another desired state, or another writer wrote it. That may
    /// repeat and affects only this object.
    ForItself,
}

/// One object and its poll state.
#[derive(Debug)]
pub struct ObjectState {
    object: LeanObject,
    /// Current verdict of the object, if it is ours.
    current: Option<CurrentVerdict>,
    rendered: Rendered,
    /// K and the changed secrets, in the form of the [`Basis`].
    correction: u64,
    moved: u64,
    /// True if the record contradicts an absence, and if it has a create, in the form of the [`Basis`].
    contradicted: bool,
    created: bool,
    /// True if a newer version wrote a condition of the object, so that nothing is written over it.
    is_of_newer_version: bool,
    settings: Arc<PollSettings>,
    schedule: Schedule,
    confirmation: Confirmation,
    /// What this process saw of the resource.
    seen: Known,
    /// Result of the last poll of this process.
    latest: LatestPoll,
    /// Standing as the store has counted it.
    counted: Standing,
    /// True if a person confirmed the loss of the resource by a request that is no time.
    confirms_loss: bool,
    last_failure: Option<Failure>,
    last_heard: Moment,
    /// Start of the running poll.
    polling: Option<Moment>,
    /// True if the object changed since the running poll began, so that templates may have other results.
    edited_meanwhile: bool,
    /// True if a poll was requested since the running one began, so that its result is no answer.
    asked_meanwhile: bool,
    /// Entity tag of the state that was last in sync.
    tag: Option<RememberedTag>,
    /// Rendered request of its polls, kept only if they are frequent.
    prepared: Option<Arc<Prepared>>,
    /// Last finding about the object in its current state.
    known: Option<KnownFinding>,
    writing: Writing,
    /// True if another writer changed or removed our condition since it was last correct.
    disturbed: bool,
}

impl ObjectState {
    /// Creates the state of a new object.
    #[must_use]
    pub fn new(
        object: LeanObject,
        rendered: Rendered,
        settings: Arc<PollSettings>,
        arrival: Arrival,
        now: Now,
    ) -> Self {
        let current = object.conditions.observed().and_then(CurrentVerdict::read);
        let means_something_else = means_something_else(current.as_ref(), &object, &rendered);
        let owes = stands_true(&object) || means_something_else;
        let owing = match arrival {
            // Its verdict may be about another desired state. An edit of the target does not count here, because it
            // begins with a new list.
            Arrival::Later => Owing::ForItself,
            Arrival::Listed => Owing::Since(now.moment),
        };
        let basis = Basis::of(&object, rendered.desired_hash);
        let mut state = Self {
            schedule: Schedule::new(settings.phase_of(&object), now),
            confirmation: Confirmation::default(),
            seen: Known { found: current.as_ref().is_some_and(CurrentVerdict::proves_found), ..Known::default() },
            latest: LatestPoll::None,
            counted: Standing::Uncounted,
            confirms_loss: false,
            last_failure: None,
            last_heard: now.moment,
            polling: None,
            edited_meanwhile: false,
            asked_meanwhile: false,
            tag: None,
            prepared: None,
            known: None,
            writing: Writing::owing(owes.then_some(owing)),
            disturbed: false,
            correction: basis.correction,
            moved: basis.moved,
            contradicted: basis.contradicted,
            created: basis.created,
            is_of_newer_version: object.conditions.are_of_newer_version(),
            object: object.kept(),
            current,
            rendered,
            settings,
        };
        let may_be_late = state.schedule.may_have_been_missed(now.moment);
        let is_asked = !state.object.is_poll_answered();
        if arrival == Arrival::Later || may_be_late || is_asked || !state.is_in_sync_as_desired() {
            state.schedule.want_promptly(now.moment);
        }
        let is_verified = state.current.as_ref().is_some_and(|current| current.tag.correction >= state.correction);
        let is_judged = state.current.as_ref().is_some_and(|current| current.generation == state.object.generation);
        if state.correction > 0 && !is_verified || state.settings.settles_edits && !is_judged {
            state.settle_from(now.moment);
        }
        state.believe_bar();
        state
    }

    /// Returns the object as last seen.
    #[must_use]
    pub const fn object(&self) -> &LeanObject {
        &self.object
    }

    /// Returns the facts about the object that need no read.
    #[must_use]
    pub const fn rendered(&self) -> &Rendered {
        &self.rendered
    }

    /// Returns the cause if the object still needs a verdict of this process: its condition was True or was about
    /// another desired state at this very generation when this process started, another writer set it to True, or the
    /// present verdict cannot be written.
    #[must_use]
    pub fn owes_verdict(&self, now: Moment) -> Option<Affair> {
        match self.writing.owing.filter(|_| self.is_polled()) {
            _ if self.is_of_newer_version => Some(Affair::OfObject),
            Some(Owing::Since(_)) if !self.writing.attempts.are_refused() => Some(Affair::OfTarget),
            Some(_) => Some(Affair::OfObject),
            None => self.unwritten(now).map(|_| Affair::OfObject),
        }
    }

    /// Returns the reason if the present verdict cannot be written, so that the condition is not true any more.
    #[must_use]
    pub fn unwritten(&self, now: Moment) -> Option<UnwrittenWord> {
        if self.is_of_newer_version {
            return Some(UnwrittenWord::NewerVersion);
        }
        self.writing.attempts.unwritten(now).filter(|_| self.is_polled())
    }

    /// Returns the time at which to ask for [`Self::unwritten`] again.
    #[must_use]
    pub fn overdue_at(&self, now: Moment) -> Option<Moment> {
        self.writing.attempts.overdue_at().filter(|overdue| *overdue > now)
    }

    /// Returns true if other objects of its target wait for its verdict. That is the case only for a verdict missing
    /// since the start, until a write of it fails or it takes too long.
    #[must_use]
    pub fn is_waited_for(&self, now: Moment) -> bool {
        let Some(Owing::Since(start)) = self.writing.owing else { return false };
        self.owes_verdict(now).is_some() && !self.writing.attempts.have_failed() && !now.is_past(start, OWED_AT_MOST)
    }

    /// Returns true if the object has polls and verdicts. While it is being deleted, it has them only where a poll may
    /// end the deletion.
    pub(super) fn is_polled(&self) -> bool {
        !self.object.deleting || awaits_absence(&self.object)
    }

    /// Returns the state that a poll begun now would be about.
    #[must_use]
    pub const fn basis(&self) -> Basis {
        let Self { object, rendered, correction, moved, contradicted, created, .. } = self;
        Basis {
            generation: object.generation,
            desired_hash: rendered.desired_hash,
            correction: *correction,
            moved: *moved,
            contradicted: *contradicted,
            created: *created,
        }
    }

    /// Returns its standing among the target's objects whose resource was found before.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if !self.seen.found || self.object.deleting || self.rendered.rejected.is_some() {
            return Standing::Uncounted;
        }
        match self.latest {
            LatestPoll::Present => Standing::Present,
            LatestPoll::Unasked => Standing::Uncounted,
            _ if self.object.conditions.has_replaced() => Standing::Uncounted,
            LatestPoll::None => Standing::Unpolled,
            LatestPoll::Absent => Standing::Absent,
            LatestPoll::Failed => Standing::Failed,
        }
    }

    /// Returns its standing as the store has counted it.
    #[must_use]
    pub const fn counted(&self) -> Standing {
        self.counted
    }

    /// Notes its present standing as counted. Returns the former and the present one.
    pub(super) fn count_standing(&mut self) -> (Standing, Standing) {
        let present = self.standing();
        (std::mem::replace(&mut self.counted, present), present)
    }

    /// Takes in the object from a watch or a read. A state older than the known one is dropped.
    pub fn see(&mut self, mut object: LeanObject, rendered: Rendered, now: Moment) {
        if object.id != self.object.id || !object.is_as_new_as(&self.object) {
            return;
        }
        // The queues have the same texts.
        object.id = self.object.id.clone();
        let before = self.basis();
        let view_differs = object.view != self.object.view;
        let edited = view_differs && !self.writing.attempts.explain_view(&self.object.view.open(), &object.view.open());
        let asked = object.poll_requested().is_some() && object.poll_requested() != self.object.poll_requested();
        self.asked_meanwhile |= asked;
        if asked {
            self.writing.attempts.end_delay();
        }
        let retried = self.is_held_loss() && object.retry_requested() != self.object.retry_requested();
        self.confirms_loss |= retried && object.retry_requested().is_some_and(|value| !is_time(value));
        let not_rejected = self.rendered.rejected.is_some() && rendered.rejected.is_none();
        let current = object.conditions.observed().and_then(CurrentVerdict::read);
        self.note_condition(&object, current.as_ref(), now);
        let after = Basis::of(&object, rendered.desired_hash);
        self.is_of_newer_version = object.conditions.are_of_newer_version();
        (self.object, self.current, self.rendered) = (object.kept(), current, rendered);
        // A failed poll or a lost race of the verdict leaves the confirmation.
        self.confirms_loss =
            self.confirms_loss && !self.current.as_ref().is_some_and(|current| current.reason.is_absence());
        (self.correction, self.moved) = (after.correction, after.moved);
        (self.contradicted, self.created) = (after.contradicted, after.created);
        if after.correction > before.correction {
            self.settle_from(now);
        } else if self.settings.settles_edits && !after.has_the_spec_of(&before) {
            self.settle_edit(now);
        }
        self.forget_former(&before, view_differs);
        if not_rejected {
            // The object was not to be polled until now, so there was no silence.
            self.last_heard = now;
        }
        let has_new_interval = self.schedule.follow(self.settings.phase_of(&self.object));
        if edited || asked || retried || not_rejected || has_new_interval || after != before {
            self.schedule.want_promptly(now);
        }
        self.believe_bar();
    }

    /// Drops all data that depends on changed parts of the state.
    fn forget_former(&mut self, before: &Basis, view_differs: bool) {
        let after = self.basis();
        if view_differs {
            self.prepared = None;
        }
        if after != *before {
            self.disbelieve();
        }
        if !after.has_the_spec_of(before) {
            self.seen.in_sync = false;
        }
        if view_differs || after != *before {
            // After a change of the request, the desired state or the correction, the tag has no meaning, even if we
            // made the change.
            self.tag = None;
            self.known = None;
            self.edited_meanwhile = true;
        }
    }

    /// Returns true if the absence of the resource is reported as the loss of all.
    pub(super) fn is_held_loss(&self) -> bool {
        self.object
            .conditions
            .observed()
            .is_some_and(|condition| condition.reason == ObservedReason::AllMissing.as_str())
    }

    fn is_in_sync_as_desired(&self) -> bool {
        self.current.as_ref().is_some_and(|current| self.basis().is_in_sync_by(current))
    }
}

/// Returns true if an edit of the target changed the meaning of in sync. Such objects are judged before any of them is
/// corrected, so that the breaker sees them all: a typo in a target must not be applied to the first dozen objects.
fn means_something_else(current: Option<&CurrentVerdict>, object: &LeanObject, rendered: &Rendered) -> bool {
    current.is_some_and(|current| {
        let same_spec = object.generation.is_some() && current.generation == object.generation;
        same_spec && current.proves_seen() && current.tag.desired_hash != rendered.desired_hash
    })
}

/// Returns true if a request is a time, so that it counts by being later than what it ends.
fn is_time(request: &str) -> bool {
    TransitionTime::from(request).second().is_some()
}

fn stands_true(object: &LeanObject) -> bool {
    object.conditions.observed().is_some_and(|condition| condition.status == ConditionStatus::True)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod deletion_tests;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod published_tests;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod readiness_tests;
