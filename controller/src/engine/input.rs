//! The inputs of a target's engine.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use super::execution::Event;

/// Both clocks at the time of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The monotonic clock, which every delay is measured by.
    pub moment: Moment,
    /// The wall clock, as the time since 1970.
    pub wall: Duration,
}

/// One thing that happened.
#[derive(Debug)]
pub enum Input {
    /// The watch shows an object of the target.
    Seen(Box<LeanObject>),
    /// The object is deleted, or not the target's any more.
    Left(Uid),
    /// The target selects the object, and another target, first by name, owns it.
    Skipped(Box<LeanObject>),
    /// The watch showed every object of the target.
    Listed,
    /// The answer to [`Effect::ReadAnew`](super::Effect::ReadAnew); `None` if the object is gone.
    ReadAnew(Option<Box<LeanObject>>),
    /// What [`Effect::Do`](super::Effect::Do) asked for is done.
    Done(Uid, Event),
    /// The Lease is lost, or the time to drain is over.
    TermEnded,
    /// An object of another target came, changed or went, which may change what this object may do.
    Concerned(Uid),
    /// A scope became complete or incomplete.
    ScopesChanged,
    /// The poller's attestation changed, for this target or for another.
    AttestationChanged,
    /// A person edited the target's limits: what drifts now may pass the breaker.
    LimitsEdited,
    /// Time passed. Objects whose turn it is are decided on this input alone, so that a batch of events is taken in first.
    Tick,
}
