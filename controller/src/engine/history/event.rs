//! All events of a history, and the mishaps of requests and corrections.

use drift_api::identity::ScopeId;
use drift_language::Mode;

use crate::engine::fixtures::{elsewhere, target};

/// Reaction of the external system to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    AcceptedWithoutEffect,
    Refused,
    LostBefore,
    LostAfter,
    /// Status codes 401, 403 or 429.
    TurnedAway,
}

/// Mishap in the middle of a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    None,
    /// A Secret that the requests need is missing.
    LacksSecret,
    /// The process crashes after writing the claim.
    DiesAfterClaim,
    /// The process crashes after the deletion of a replacement and before its creation.
    DiesMidway,
    DiesBeforeRecord,
    DiesAfterRecord,
    /// Another writer removes the status, including the claim.
    NoteTakenBeforeRecord,
}

/// Change of the object while a request is running.
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
    /// Another writer sets our status to `CorrectionStarted`. The next event removes our finalizer.
    StatusAltered,
    FinalizerStripped,
    /// The API server refuses every status write from now on, or accepts them again.
    StatusRefused(bool),
    /// Another writer restores an earlier verdict.
    Replayed,
    /// Reaction of the external system to deletions of replacements from now on.
    DeletionAnswered(Answer),
    /// The target's steps are edited.
    StepsEdited(u8),
    /// The target is removed and added again, before or after its traces were cleaned up.
    TargetReadded {
        cleaned: bool,
    },
    /// The target's scope is edited.
    ScopeSet(Scope),
    Orphaned,
    Restarted,
    /// Another writer overtakes this many of our next writes.
    Overtaken(u8),
    RetryRequested(u8),
    ModeSet(Mode),
    Deleted,
}

/// Scope of the target's identities. Each scope has its own resource of the same name.
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
