//! The inputs of a target's engine.

use std::collections::HashSet;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::report::SeenReport;
use drift_api::timing::moment::Moment;
use drift_language::TargetState;
use drift_language::cel::SecretValues;

use crate::engine::collection::requests::RequestKey;
use crate::engine::hints::Hint;
use crate::engine::judgement::finding::{Failure, Found};
use crate::engine::object::object_state::BegunPoll;
use crate::engine::poll::entity_tag::Tagged;
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::writes::write_attempts::WriteOutcome;

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
    /// All watches were alive at `since` or later.
    Alive {
        /// Oldest of the last heartbeats.
        since: Moment,
    },
    /// The answer to [`Effect::ReadAnew`](super::Effect::ReadAnew); `None` if the object is gone.
    ReadAnew(Option<Box<LeanObject>>),
    /// The result of [`Effect::Poll`](super::Effect::Poll).
    PollEnded(Box<PollResult>),
    /// The result of [`Effect::Traverse`](super::Effect::Traverse).
    TraversalEnded(EndedTraversal),
    /// The result of [`Effect::Write`](super::Effect::Write).
    WriteEnded(Box<EndedWrite>),
    /// An external resource may have changed.
    Hint(Hint),
    /// The ConfigMaps give the target this state. Sent before the first object, and after each change.
    StateChanged {
        /// The state.
        state: TargetState,
        /// Time for which a former target is polled.
        polled_for: Duration,
    },
    /// Time passed. Polls and writes begin only on this input, so that a batch of events is taken in first.
    Tick,
}

/// Outcome of one poll.
#[derive(Debug)]
pub struct PollResult {
    /// Uid of the object.
    pub uid: Uid,
    /// State that the result must match.
    pub begun: BegunPoll,
    /// Finding, or the reason why the poll was postponed.
    pub found: Result<Found, Postponed>,
    /// Delay for the object that the response asked for.
    pub pause: Option<Duration>,
    /// Entity tag of the state in which the object is in sync.
    pub tagged: Option<Tagged>,
    /// Finding to reuse for equal responses.
    pub known: Option<KnownFinding>,
    /// Time from the first connection attempt to the finding.
    pub took: Duration,
}

/// Outcome of one traversal.
#[derive(Debug)]
pub struct EndedTraversal {
    /// Key that distinguishes it from traversals with another request.
    pub key: RequestKey,
    /// One result for each object that took part.
    pub results: Vec<PollResult>,
    /// Names of all entries, if the traversal is complete.
    pub names: Option<HashSet<String>>,
    /// Sent credentials, which no shown name may contain.
    pub credentials: SecretValues,
}

/// A poll that was not begun or had to wait. It is late, not failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postponed {
    /// End of the delay.
    pub until: Moment,
    /// Failure to report if the delay lasts too long.
    pub cause: Failure,
}

/// Outcome of one write.
#[derive(Debug)]
pub struct EndedWrite {
    /// State that the write was based on.
    pub before: LeanObject,
    /// Newest known state: the response to the write, or a live read after a lost race.
    pub object: Option<LeanObject>,
    /// Result of the write.
    pub outcome: WriteOutcome,
}
