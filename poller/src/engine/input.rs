//! The inputs of a target's engine.

use std::collections::HashSet;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_language::cel::SecretValues;

use crate::engine::collection::requests::RequestKey;
use crate::engine::hints::Hint;
use crate::engine::judgement::finding::{Failure, Found};
use crate::engine::object::object_state::{BegunPoll, BegunWrite};
use crate::engine::poll::entity_tag::Tagged;
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::writes::write_attempts::WriteOutcome;

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
    /// All watches gave a sign of life at `since` or later.
    Alive {
        /// The oldest of the last signs.
        since: Moment,
    },
    /// The answer to [`Effect::ReadAnew`](super::Effect::ReadAnew); `None` if the object is gone.
    ReadAnew(Option<Box<LeanObject>>),
    /// The end of [`Effect::Poll`](super::Effect::Poll).
    PollEnded(Box<PollResult>),
    /// The end of [`Effect::Traverse`](super::Effect::Traverse).
    TraversalEnded(EndedTraversal),
    /// The end of [`Effect::Write`](super::Effect::Write).
    WriteEnded(Box<EndedWrite>),
    /// Something outside may have changed.
    Hint(Hint),
    /// Time passed. Polls and writes begin on this input alone, so that a batch of events is taken in first.
    Tick,
}

/// The end of one poll.
#[derive(Debug)]
pub struct PollResult {
    /// The object's uid.
    pub uid: Uid,
    /// The state that the result must match.
    pub begun: BegunPoll,
    /// The finding, or the reason why the poll was postponed.
    pub found: Result<Found, Postponed>,
    /// The time that the object is to be left alone, as the answer asked.
    pub pause: Option<Duration>,
    /// The server's entity tag of the state in which the object is in sync.
    pub tagged: Option<Tagged>,
    /// The finding to reuse for equal answers.
    pub known: Option<KnownFinding>,
    /// From the first attempt to connect to the finding.
    pub took: Duration,
}

/// The end of one traversal.
#[derive(Debug)]
pub struct EndedTraversal {
    /// The key that told it from others.
    pub key: RequestKey,
    /// One result for each object that took part.
    pub results: Vec<PollResult>,
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
    /// The failure to report if this lasts too long.
    pub cause: Failure,
}

/// The end of one write.
#[derive(Debug)]
pub struct EndedWrite {
    /// The state that the write was based on.
    pub before: LeanObject,
    /// The write.
    pub begun: BegunWrite,
    /// The newest state known: the answer of the write, or what was read live after a lost race. `None` in a report: the engine took it.
    pub object: Option<LeanObject>,
    /// The end of the write.
    pub outcome: WriteOutcome,
}
