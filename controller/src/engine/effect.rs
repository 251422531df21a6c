//! The effects that a target's engine asks the shell to perform.

use std::time::Duration;

use drift_api::identity::{Claimant, Uid};
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;
use drift_api::voucher::Voucher;

use crate::core::breaker::Transition;
use crate::core::decision::Decision;
use crate::core::held::Held;
use crate::core::limits::Taken;

/// One thing to do.
#[derive(Debug)]
pub enum Effect {
    /// Begin to carry out a decision. The end comes back as [`Input::Ended`](super::Input::Ended).
    Begin {
        /// The object that was decided on.
        object: Box<LeanObject>,
        /// The decision.
        decision: Decision,
    },
    /// Answer the execution that asked for a decision on its object.
    Answer(Box<Answer>),
    /// Tell the execution that asked that nothing is to be done.
    Dismiss(Uid),
    /// Cut short what the object's execution waits for: the object is being deleted.
    Interrupt(Uid),
    /// Read an object live because a list shows it older than it is known.
    ReadAnew(Box<LeanObject>),
    /// Tell people: an Event, a line of the log, or a metric.
    Report(Report),
    /// Give an [`Input::Tick`](super::Input::Tick) at this time at the latest.
    WakeAt(Moment),
}

/// The decision on an object that was read live.
#[derive(Debug)]
pub struct Answer {
    /// The newest known state.
    pub object: Box<LeanObject>,
    /// The decision on that state.
    pub decision: Decision,
    /// A correction's place within the target's limits. The execution drops it once it asks nothing more of the external
    /// system: the record on the object that follows may be refused for ever, which is no reason to hold up others.
    pub taken: Option<Taken>,
    /// The claimant that has the resource until the outcome is recorded or the first write fails, also where the object
    /// leaves the target meanwhile.
    pub claimant: Option<Claimant>,
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
    Attestation(Option<Voucher>),
    /// So many more objects are held for this reason.
    HeldBy(Held, i64),
    /// Deletions that our finalizer keeps from their end.
    Deletions {
        /// How many.
        count: usize,
        /// How long ago the oldest was asked for.
        oldest: Duration,
    },
    /// The engine of this text of the target ended.
    Ended,
}
