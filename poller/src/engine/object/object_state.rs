//! One object's life as the poller sees it: when it is polled, what is believed, what is written.
//!
//! A state machine over values: the shell tells it what happened and asks what to do next. Every result is held against
//! the state it began from.

mod polling;
mod writing;

use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::{ConditionStatus, CurrentVerdict, Verdict};
use drift_api::mutants::{Mutant, is_planted};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

pub use polling::BegunPoll;
pub use writing::BegunWrite;

use crate::engine::judgement::confirmation::Confirmation;
use crate::engine::judgement::finding::Failure;
use crate::engine::judgement::flapping::Flapping;
use crate::engine::judgement::rendered::Rendered;
use crate::engine::judgement::verdict::Basis;
use crate::engine::object::owed_verdicts::Affair;
use crate::engine::poll::entity_tag::RememberedTag;
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::poll::request::Prepared;
use crate::engine::schedule::poll_settings::PollSettings;
use crate::engine::schedule::{Now, Phase, Schedule};
use crate::engine::writes::urgency::Urgency;
use writing::Writing;

/// Intervals without a complete poll after which the current verdict is too old to stand.
pub const SILENT_INTERVALS: u32 = 3;

/// An object that owes its verdict since the start keeps the others of its target waiting no longer than this: what hinders
/// it is its own. Longer than any poll with three tries at the usual deadline of ten seconds.
pub const OWED_AT_MOST: Duration = Duration::from_secs(60);

/// The way in which an object came into view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// With the first list after a start, as one of perhaps very many.
    Listed,
    /// After it.
    Later,
}

/// Why no verdict of this process stands on an object, though the controller might act on the one that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owing {
    /// It stood so at the start, or before the text changed. Of those there may be very many, and the breaker is to see
    /// them all before any is corrected.
    Since(Moment),
    /// It came later with a verdict of drift or of another desired state, or somebody else wrote it. That may happen again and
    /// again, and is the object's own affair.
    ForItself,
}

/// The next write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextWrite {
    /// Nothing.
    Nothing,
    /// Ask again then.
    NotBefore(Moment),
    /// This condition, with this urgency.
    Write(Verdict, Urgency),
}

/// One object and all that is remembered of it. There are very many of them, and what nearly none of them needs has
/// its own room.
#[derive(Debug)]
pub struct ObjectState {
    object: LeanObject,
    rendered: Rendered,
    /// K, and which secrets moved, as the [`Basis`] has them.
    correction: u64,
    moved: u64,
    settings: Arc<PollSettings>,
    schedule: Schedule,
    confirmation: Confirmation,
    /// True if this process saw the object in sync at this spec.
    seen_in_sync: bool,
    last_failure: Option<Box<Failure>>,
    last_heard: Moment,
    /// The time at which the poll under way began.
    polling: Option<Moment>,
    /// True if the templates may see something else than when it began.
    edited_meanwhile: bool,
    /// The entity tag of the state that was last in sync.
    tag: Option<Box<RememberedTag>>,
    /// The rendered request of its polls, kept only if they are frequent.
    prepared: Option<Arc<Prepared>>,
    /// The last finding about the object as it is.
    known: Option<KnownFinding>,
    /// Boxed: of nearly all objects what should stand does, and nothing is to be written.
    writing: Option<Box<Writing>>,
    flapping: Flapping,
    /// Somebody else wrote or removed our condition since it last stood as it should.
    disturbed: bool,
}

/// A program keeps 100,000 of these. A field that few objects need belongs in a box.
const _: () = assert!(size_of::<ObjectState>() <= 512);

impl ObjectState {
    /// Begins to follow an object.
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
            // Its verdict may speak of another desired state. An edit of the target is no such case: it begins with a new list.
            Arrival::Later => Owing::ForItself,
            Arrival::Listed => Owing::Since(now.moment),
        };
        let basis = Basis::of(&object, rendered.desired_hash);
        let mut state = Self {
            schedule: match settings.shared_phase {
                Some(phase) => Schedule::new(phase, now),
                None => Schedule::new(Phase::of(&object.id.uid, settings.interval), now),
            },
            confirmation: Confirmation::default(),
            seen_in_sync: false,
            last_failure: None,
            last_heard: now.moment,
            polling: None,
            edited_meanwhile: false,
            tag: None,
            prepared: None,
            known: None,
            writing: owes.then(|| Box::new(Writing::owing(owing))),
            flapping: Flapping::default(),
            disturbed: false,
            correction: basis.correction,
            moved: basis.moved,
            object: object.kept(),
            rendered,
            settings,
        };
        let may_be_late = state.schedule.may_have_been_missed(now.moment);
        if arrival == Arrival::Later || may_be_late || !state.is_in_sync_as_desired() {
            state.schedule.want_promptly(now.moment);
        }
        let is_verified = current.as_ref().is_some_and(|current| current.tag.correction >= state.correction);
        let is_judged = current.as_ref().is_some_and(|current| current.generation == state.object.generation);
        if state.correction > 0 && !is_verified || state.settings.settles_edits && !is_judged {
            state.settle_from(now.moment);
        }
        state.believe_bar();
        state
    }

    /// The object as it was last seen.
    #[must_use]
    pub const fn object(&self) -> &LeanObject {
        &self.object
    }

    /// Returns the facts about the object that need no read.
    #[must_use]
    pub const fn rendered(&self) -> &Rendered {
        &self.rendered
    }

    /// Whether no new verdict stands since this process began to look on an object that stood True, or whose verdict
    /// spoke of another desired state at this very generation; or since somebody else made it stand True. Whose affair that is.
    #[must_use]
    pub fn owes_verdict(&self) -> Option<Affair> {
        let owing = self.writing().owing.filter(|_| !self.object.deleting)?;
        let is_own = owing == Owing::ForItself || self.writing().attempts.are_refused();
        Some(if is_own { Affair::OfObject } else { Affair::OfTarget })
    }

    /// Returns true if the others of its target wait for the verdict that it owes: only if it owes it since the start, until a
    /// write of it fails or it has taken too long already.
    #[must_use]
    pub fn is_waited_for(&self, now: Moment) -> bool {
        let Some(Owing::Since(start)) = self.writing().owing else { return false };
        self.owes_verdict().is_some() && !self.writing().attempts.have_failed() && !now.is_past(start, OWED_AT_MOST)
    }

    /// The state that a poll begun now would speak of.
    #[must_use]
    pub const fn basis(&self) -> Basis {
        let Self { object, rendered, correction, moved, .. } = self;
        Basis {
            generation: object.generation,
            desired_hash: rendered.desired_hash,
            correction: *correction,
            moved: *moved,
        }
    }

    /// Takes in the object as a watch or a read shows it; an older state than the known one is dropped.
    pub fn see(&mut self, mut object: LeanObject, mut rendered: Rendered, now: Moment) {
        if object.id != self.object.id || !object.is_as_new_as(&self.object) {
            return;
        }
        let before = self.basis();
        let view_differs = object.view != self.object.view;
        let edited =
            view_differs && !self.writing().attempts.explain_view(&self.object.view.open(), &object.view.open());
        let asked = object.poll_requested().is_some() && object.poll_requested() != self.object.poll_requested();
        let not_rejected = self.rendered.rejected.is_some() && rendered.rejected.is_none();
        self.share_equal(&mut object, &mut rendered, view_differs);
        self.note_foreign_write(&object, now);
        let after = Basis::of(&object, rendered.desired_hash);
        (self.object, self.rendered) = (object.kept(), rendered);
        (self.correction, self.moved) = (after.correction, after.moved);
        if after.correction > before.correction {
            self.settle_from(now);
        } else if self.settings.settles_edits && !after.has_the_spec_of(&before) {
            self.settle_edit(now);
        }
        self.forget_former(&before, view_differs);
        if not_rejected {
            // It was not to be polled until now, so that is no silence.
            self.last_heard = now;
        }
        if edited || asked || not_rejected || after != before {
            self.schedule.want_promptly(now);
        }
        self.believe_bar();
    }

    /// Gives a new state what is equal in the present one: it would take twice the room, and others keep it too.
    fn share_equal(&self, object: &mut LeanObject, rendered: &mut Rendered, view_differs: bool) {
        object.id = self.object.id.clone();
        if !view_differs {
            object.view.clone_from(&self.object.view);
        }
        if rendered.identity == self.rendered.identity {
            rendered.identity = self.rendered.identity.clone();
        }
    }

    /// Drops what depends on the parts of the state that have changed.
    fn forget_former(&mut self, before: &Basis, view_differs: bool) {
        let after = self.basis();
        if view_differs {
            self.prepared = None;
        }
        if after != *before && !is_planted(Mutant::BelievedOn) {
            self.disbelieve();
        }
        if !after.has_the_spec_of(before) {
            self.flapping.begin_anew();
            self.seen_in_sync = false;
        }
        if view_differs || after != *before {
            // A request, a desired state or a correction later the name says nothing, were it by our own hand.
            self.tag = None;
            self.known = None;
            self.edited_meanwhile = true;
        }
    }

    fn is_in_sync_as_desired(&self) -> bool {
        self.current().is_some_and(|current| self.basis().is_in_sync_by(&current))
    }

    /// The verdict that stands. It is read anew each time: kept, it would take a tenth of the room of all that is.
    fn current(&self) -> Option<CurrentVerdict> {
        self.object.conditions.observed().and_then(CurrentVerdict::read)
    }
}

/// Returns true if the target's text changed what in sync means. Such objects are judged before any of them is corrected, so
/// that the breaker sees them all: a typo in a target must not be written to the first dozen of them.
fn means_something_else(current: Option<&CurrentVerdict>, object: &LeanObject, rendered: &Rendered) -> bool {
    current.is_some_and(|current| {
        let same_spec = object.generation.is_some() && current.generation == object.generation;
        same_spec && current.proves_seen() && current.tag.desired_hash != rendered.desired_hash
    })
}

fn stands_true(object: &LeanObject) -> bool {
    object.conditions.observed().is_some_and(|condition| condition.status == ConditionStatus::True)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod published_tests;
