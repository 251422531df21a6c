//! The inputs of a target's engine.

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::report::SeenReport;
use drift_language::TargetState;

use super::execution::Event;

/// One event for the engine.
#[derive(Debug)]
pub enum Input {
    /// The watch delivered an object of the target.
    Seen(Box<LeanObject>),
    /// The report of one of its objects changed, or is gone.
    Reported(Uid, Box<SeenReport>),
    /// The object is deleted or no longer selected.
    Left(Uid),
    /// The target selects the object, but another target owns it (the first by name wins).
    Skipped(Box<LeanObject>),
    /// The watch delivered every object of the target.
    Listed,
    /// The answer to [`Effect::ReadAnew`](super::Effect::ReadAnew); `None` if the object is gone.
    ReadAnew(Option<Box<LeanObject>>),
    /// The result of [`Effect::Do`](super::Effect::Do).
    Done(Uid, Event),
    /// The Lease is lost, or the drain deadline is over.
    TermEnded,
    /// An object of another target appeared, changed or disappeared, which may change the rights of this object.
    Concerned(Uid),
    /// A scope became complete or incomplete.
    ScopesChanged,
    /// The ConfigMaps give the target this state. Sent before the first object, and after each change.
    StateChanged(TargetState),
    /// The poller's attestation changed for this or another target.
    AttestationChanged,
    /// Time passed. Objects that are due are decided only on this input, so that a batch of events is taken in first.
    Tick,
}
