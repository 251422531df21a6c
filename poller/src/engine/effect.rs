//! The effects that a target's engine asks the shell to perform.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::identity::Uid;
use drift_api::object::object_view::ObjectView;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;

use super::input::EndedWrite;
use crate::engine::collection::requests::{RequestKey, Unnamed};
use crate::engine::hints::HintOutcome;
use crate::engine::object::object_state::{BegunPoll, BegunWrite};
use crate::engine::poll::entity_tag::EntityTag;
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::poll::request::{Prepared, Request};

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

/// The input of a single poll.
#[derive(Debug)]
pub struct PollOrder {
    /// The object's uid.
    pub uid: Uid,
    /// The state that the result must match.
    pub begun: BegunPoll,
    /// The object as the templates see it.
    pub view: ObjectView,
    /// Its first request, which there is.
    pub prepared: Arc<Prepared>,
    /// The names of the secrets that moved since they were sent.
    pub moved: Vec<String>,
    /// The entity tag of the state that need not be sent again.
    pub tag: Option<EntityTag>,
    /// The finding of the last poll of the object as it is.
    pub known: Option<KnownFinding>,
}

/// The input of a single traversal of a collection.
#[derive(Debug)]
pub struct TraversalOrder {
    /// The key that tells it from traversals with another request.
    pub key: RequestKey,
    /// The request for the first page.
    pub request: Request,
    /// The objects that take part; at least one.
    pub members: Vec<Member>,
}

/// An object that takes part in a traversal.
#[derive(Debug)]
pub struct Member {
    /// The object's uid.
    pub uid: Uid,
    /// The state that the result must match.
    pub begun: BegunPoll,
    /// The object as the templates see it.
    pub view: ObjectView,
    /// The names of the secrets that moved since they were sent.
    pub moved: Vec<String>,
    /// The name of its entry.
    pub key: String,
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
