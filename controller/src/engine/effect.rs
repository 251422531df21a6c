//! The effects that a target's engine asks the shell to perform.

use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::identity::Uid;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;

use crate::engine::corrections::Correction;
use crate::engine::corrections::Held;
use crate::engine::decide::mass_drift_breaker::Transition;
use crate::engine::execution::{News, Operation};
use crate::engine::objects::held_objects::TargetHeld;

/// One action for the shell.
#[derive(Debug)]
pub enum Effect {
    /// Perform this operation for the object in its newest known state. The result comes back as
    /// [`Input::Done`](super::Input::Done). An object has one operation at a time.
    Do(Box<LeanObject>, Operation),
    /// Release what the operations of the object hold. None follows.
    End(Uid),
    /// Read an object live because a list returned an older version than the known one.
    ReadAnew(Box<LeanObject>),
    /// Notify people with an Event, a log line, or a metric.
    Report(Report),
    /// Send an [`Input::Tick`](super::Input::Tick) at this time at the latest.
    WakeAt(Moment),
}

/// One notification for people.
#[derive(Debug)]
pub enum Report {
    /// The breaker opened or closed.
    Breaker(Transition),
    /// True if the breaker is open.
    BreakerOpen(bool),
    /// A deletion is held until a person acts.
    DeletionHeld(Box<LeanObject>, Held),
    /// A deletion finds nothing where a poll still finds the resource.
    DeletionFoundNothing(Box<LeanObject>),
    /// The object is owned by another target (the first by name wins).
    ClaimedTwice(Box<LeanObject>),
    /// The object waits for these targets of its scope, whose objects are not listed yet.
    ScopeIncomplete(Box<LeanObject>, String),
    /// The API server refuses writes to the object, with this reason.
    WriteRefused(Box<LeanObject>, String),
    /// The first of the target's objects cannot be read live.
    Unreadable(ObjectId, String),
    /// Every object of the target can be read live again.
    ReadableAgain,
    /// News of a correction.
    Correction {
        /// Corrected object, in its newest known state.
        object: Box<LeanObject>,
        /// Correction.
        correction: Box<Correction>,
        /// News of it.
        news: News,
        /// True if people know the cause of [`News::Unsendable`] and of its end already.
        is_known: bool,
    },
    /// New attestation of the target.
    Attestation(Option<Attestation>),
    /// Change in the number of objects held for this reason.
    HeldBy(Held, i64),
    /// End of a hold on one object, which lasted this long.
    HeldFor(Held, Duration),
    /// The holds that no reader can see elsewhere changed to these.
    Holds(TargetHeld),
    /// Deletions that are blocked by our finalizer.
    Deletions {
        /// Number of blocked deletions.
        count: usize,
        /// Age of the oldest one.
        oldest: Duration,
    },
    /// The engine of this version of the target ended.
    Ended,
}
