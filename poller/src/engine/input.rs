//! The inputs of a target's engine.

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use crate::engine::hints::Hint;
use crate::engine::object::object_state::BegunWrite;
use crate::engine::reads::PollResults;
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
    /// The end of [`Effect::Poll`](super::Effect::Poll) or [`Effect::Traverse`](super::Effect::Traverse).
    ReadEnded(PollResults),
    /// The end of [`Effect::Write`](super::Effect::Write).
    WriteEnded(Box<EndedWrite>),
    /// Something outside may have changed.
    Hint(Hint),
    /// An object of another target came, changed or went, which may change what this object has.
    Concerned(Uid),
    /// Time passed. Polls and writes begin on this input alone, so that a batch of events is taken in first.
    Tick,
}

/// How one write ended.
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
