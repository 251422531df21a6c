//! The effects that a target's engine asks the shell to perform.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::condition::Condition;
use drift_api::identity::Uid;
use drift_api::object::object_view::ObjectView;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;
use drift_api::unwritten::Unwritten;

use crate::engine::collection::requests::{RequestKey, Unnamed};
use crate::engine::hints::HintOutcome;
use crate::engine::object::object_state::{BegunPoll, Update};
use crate::engine::poll::entity_tag::EntityTag;
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::poll::request::{Prepared, Request};
use crate::engine::writes::announcement::Announcement;

/// One action for the shell.
#[derive(Debug)]
pub enum Effect {
    /// Poll one object with this input.
    Poll(Box<PollOrder>),
    /// Traverse the target's collection for these objects.
    Traverse(TraversalOrder),
    /// Write a verdict.
    Write(Box<Update>),
    /// Read an object live because a list returned an older version than the known one.
    ReadAnew(Box<LeanObject>),
    /// Add the target to the list of attested targets with this attestation, or remove it.
    Attest(Option<Attestation>),
    /// Publish the verdicts that cannot be written; `None` without one.
    Unwritten(Option<Unwritten>),
    /// Notify people with an Event, a log line, or a metric.
    Report(Report),
    /// Send an [`Input::Tick`](super::Input::Tick) at this time at the latest.
    WakeAt(Moment),
}

/// Input of a single poll.
#[derive(Debug)]
pub struct PollOrder {
    /// Uid of the object.
    pub uid: Uid,
    /// State that the result must match.
    pub begun: BegunPoll,
    /// Object as the templates see it.
    pub view: ObjectView,
    /// First request of the object, successfully rendered.
    pub prepared: Arc<Prepared>,
    /// Names of the secrets that changed since they were sent.
    pub moved: Vec<String>,
    /// Entity tag of the state that the server need not send again.
    pub tag: Option<EntityTag>,
    /// Finding of the last poll of the object in its current state.
    pub known: Option<KnownFinding>,
}

/// Input of a single traversal of a collection.
#[derive(Debug)]
pub struct TraversalOrder {
    /// Key that distinguishes it from traversals with another request.
    pub key: RequestKey,
    /// Request for the first page.
    pub request: Request,
    /// Objects that take part; at least one.
    pub members: Vec<Member>,
}

/// An object that takes part in a traversal.
#[derive(Debug)]
pub struct Member {
    /// Uid of the object.
    pub uid: Uid,
    /// State that the result must match.
    pub begun: BegunPoll,
    /// Object as the templates see it.
    pub view: ObjectView,
    /// Names of the secrets that changed since they were sent.
    pub moved: Vec<String>,
    /// Name of the object's entry.
    pub key: String,
}

/// A written verdict.
#[derive(Debug)]
pub struct WrittenVerdict {
    /// Object before the write.
    pub before: LeanObject,
    /// Written condition.
    pub condition: Condition,
    /// Event to send about it.
    pub announcement: Option<Announcement>,
}

/// One notification for people.
#[derive(Debug)]
pub enum Report {
    /// A poll ended with this finding after this duration.
    Polled(&'static str, Duration),
    /// A poll was postponed.
    Postponed,
    /// A hint was processed.
    Hinted(HintOutcome),
    /// A write ended, with this label of the metric.
    WriteEnded(&'static str),
    /// A verdict was written.
    Written(Box<WrittenVerdict>),
    /// The API server refuses writes to this object, with this reason.
    WriteRefused(ObjectId, String),
    /// Too many consecutive writes of an object lost a race.
    RaceLost,
    /// The verdict of this object keeps changing.
    Flapping(ObjectId),
    /// Other writers remove the verdict of this object again and again.
    VerdictRemoved(ObjectId),
    /// The object is owned by another target (the first by name wins).
    ClaimedTwice(ObjectId),
    /// Entries of the collection that belong to no object.
    Unnamed(Unnamed),
    /// Namespaces that are not attested as a whole.
    Crowded(BTreeSet<String>),
    /// The counts of the objects are due.
    Counts,
}
