//! The effects that a target's engine asks the shell to perform.

use std::collections::BTreeSet;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;

use super::input::EndedWrite;
use crate::engine::collection::requests::Unnamed;
use crate::engine::hints::HintOutcome;
use crate::engine::object::object_state::BegunWrite;
use crate::engine::reads::{PollOrder, TraversalOrder};

/// One thing to do.
#[derive(Debug)]
pub enum Effect {
    /// Poll one object.
    Poll(Box<PollOrder>),
    /// Go through the target's collection for these objects.
    Traverse(TraversalOrder),
    /// Write the condition onto this state of the object, and onto no other.
    Write(Box<LeanObject>, BegunWrite),
    /// Read an object live because a list shows it older than it is known.
    ReadAnew(Box<LeanObject>),
    /// Put the target on the list of attested targets with this, or take it off.
    Attest(Option<Attestation>),
    /// Tell people: an Event, a line of the log, or a metric.
    Report(Report),
    /// Give an [`Input::Tick`](super::Input::Tick) at this time at the latest.
    WakeAt(Moment),
}

/// One thing to tell people.
#[derive(Debug)]
pub enum Report {
    /// A poll ended with this finding, so long after it began.
    Polled(&'static str, Duration),
    /// A poll was put off.
    Postponed,
    /// A hint was taken in.
    Hinted(HintOutcome),
    /// A write ended.
    Written(Box<EndedWrite>),
    /// The API server refuses the writes to this object, for the reason in this sentence.
    WriteRefused(ObjectId, String),
    /// Too many writes of an object in a row found it moved.
    RaceLost,
    /// The verdict of this object goes back and forth.
    Flapping(ObjectId),
    /// Another target, first by name, owns the object.
    ClaimedTwice(ObjectId),
    /// The entries of the collection that belong to no object.
    Unnamed(Unnamed),
    /// The namespaces that are not attested as a whole are these now.
    Crowded(BTreeSet<String>),
    /// The counts of the objects are due.
    Counts,
}
