//! The reads that the engine asks for, and what they found.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::object_view::ObjectView;
use drift_api::timing::moment::Moment;
use drift_language::cel::SecretValues;

use crate::engine::collection::requests::RequestKey;
use crate::engine::judgement::finding::{Failure, Found};
use crate::engine::object::object_state::BegunPoll;
use crate::engine::object::prepared::Prepared;
use crate::engine::poll::entity_tag::{EntityTag, Tagged};
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::poll::request::Request;

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

/// Outcome of a single poll.
#[derive(Debug)]
pub enum PollOutcome {
    /// It found something out, be it that nothing can be said.
    Found {
        /// The finding.
        found: Found,
        /// The time that the object is to be left alone, as the answer asked.
        pause: Option<Duration>,
        /// The server's entity tag of the state in which the object is in sync.
        tagged: Option<Tagged>,
        /// What the same answers would give again.
        known: Option<KnownFinding>,
    },
    /// The poll was postponed.
    Postponed(Postponed),
}

/// The end of one poll.
#[derive(Debug)]
pub struct PollResult {
    /// The object's uid.
    pub uid: Uid,
    /// The state that the result must match.
    pub begun: BegunPoll,
    /// The outcome.
    pub outcome: PollOutcome,
    /// From the first attempt to connect to the finding.
    pub took: Duration,
}

/// The end of polls that were made together.
#[derive(Debug, Default)]
pub struct PollResults {
    /// One for each object.
    pub results: Vec<PollResult>,
    /// The traversal that they were made by.
    pub traversal: Option<EndedTraversal>,
}

/// A traversal that is over.
#[derive(Debug)]
pub struct EndedTraversal {
    /// The key that told it from others.
    pub key: RequestKey,
    /// The names of all entries where it came to its end.
    pub names: Option<HashSet<String>>,
    /// The credentials that were sent, which no name that is shown may repeat.
    pub credentials: SecretValues,
}

/// A poll that was not begun, or that had to wait for others, is late, not failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postponed {
    /// Until when.
    pub until: Moment,
    /// What is told of the object where that lasts too long.
    pub cause: Failure,
}
