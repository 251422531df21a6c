//! Everything that can happen in a history, and what a request or a correction may meet.

use drift_api::identity::ScopeId;
use drift_language::Mode;

use crate::engine::fixtures::{elsewhere, target};

/// What the external system does with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    AcceptedWithoutEffect,
    Refused,
    LostBefore,
    LostAfter,
    /// 401, 403 or 429.
    TurnedAway,
}

/// What happens in the midst of a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    None,
    /// A Secret that the requests need is missing.
    LacksSecret,
    /// The process dies.
    DiesAfterClaim,
    /// What is to be replaced was taken away, and nothing was made yet.
    DiesMidway,
    DiesBeforeRecord,
    DiesAfterRecord,
    /// Another writer takes the note, the claim with it.
    NoteTakenBeforeRecord,
}

/// What happens to the object while a request is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meanwhile {
    Nothing,
    Edited(u8),
    Deleted,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    PollBegins,
    PollEnds,
    Controller(Answer, Mishap, Meanwhile),
    Passes(u64),
    Edited(u8),
    ChangedOutside(u8),
    RemovedOutside,
    MadeByOthers,
    Attested(bool),
    NoteTaken,
    /// Another writer makes our status say that a correction has begun, or takes our finalizer off.
    StatusAltered,
    FinalizerStripped,
    /// The API server refuses every status from now on, or does not any more.
    StatusRefused(bool),
    /// Another writer puts back a verdict that it has read before.
    Replayed,
    /// What the external system does with the deletions of replacements from now on.
    DeletionAnswered(Answer),
    /// The target's steps are edited.
    StepsEdited(u8),
    /// The target is removed and added again, in time or after its traces were cleaned up.
    TargetReadded {
        cleaned: bool,
    },
    /// The target's scope is edited.
    ScopeSet(Scope),
    Orphaned,
    Restarted,
    /// Another writer is faster than our next so many writes.
    Overtaken(u8),
    RetryRequested(u8),
    ModeSet(Mode),
    Deleted,
}

/// Where the target's identities hold: each scope has its own resource of the one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Here,
    Elsewhere,
}

impl Scope {
    pub(super) const ALL: [Self; 2] = [Self::Here, Self::Elsewhere];

    pub(super) fn id(self) -> ScopeId {
        match self {
            Self::Here => target().scope,
            Self::Elsewhere => elsewhere("db").scope,
        }
    }
}
