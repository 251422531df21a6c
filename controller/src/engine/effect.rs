//! The effects that a target's engine asks the shell to perform.

use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::identity::Uid;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;

use super::operation::Work;
use crate::engine::corrections::held::Held;
use crate::engine::decide::mass_drift_breaker::Transition;
use crate::engine::objects::held_objects::TargetHeld;

/// One thing to do.
#[derive(Debug)]
pub enum Effect {
    /// Do this for the object, after everything that was to be done for it before. The result comes back as
    /// [`Input::Done`](super::Input::Done), except of a pause and of the end.
    Do(Uid, Box<Work>),
    /// Read an object live because a list shows it older than it is known.
    ReadAnew(Box<LeanObject>),
    /// Tell people: an Event, a line of the log, or a metric.
    Report(Report),
    /// Give an [`Input::Tick`](super::Input::Tick) at this time at the latest.
    WakeAt(Moment),
}

/// One thing to tell people.
#[derive(Debug)]
pub enum Report {
    /// The breaker opened or closed.
    Breaker(Transition),
    /// Whether the breaker is open.
    BreakerOpen(bool),
    /// A deletion waits for a person.
    DeletionHeld(Box<LeanObject>, Held),
    /// A deletion found nothing where the last poll saw the resource.
    DeletionFoundNothing(Box<LeanObject>),
    /// Another target, first by name, owns the object.
    ClaimedTwice(Box<LeanObject>),
    /// The object waits for these targets of its scope, whose objects are not known.
    ScopeIncomplete(Box<LeanObject>, String),
    /// The API server refuses writes to the object, for the reason in this sentence.
    WriteRefused(Box<LeanObject>, String),
    /// The first of the target's objects cannot be read live.
    Unreadable(ObjectId, String),
    /// Every object of the target can be read live again.
    ReadableAgain,
    /// The object is forgotten: whatever is told of it next is news.
    Forgotten(Uid),
    /// The attestation of the target changed to this.
    Attestation(Option<Attestation>),
    /// So many more objects are held for this reason.
    HeldBy(Held, i64),
    /// The holds that no reader can see elsewhere changed to these.
    Holds(TargetHeld),
    /// Deletions that our finalizer keeps from their end.
    Deletions {
        /// How many.
        count: usize,
        /// The age of the oldest.
        oldest: Duration,
    },
    /// The engine of this text of the target ended.
    Ended,
}
