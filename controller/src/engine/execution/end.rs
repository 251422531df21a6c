//! The end of an execution, and its effect on the object's memory.

use std::time::Duration;

use drift_api::condition::CorrectionStatus;
use drift_api::timing::moment::Moment;

use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::outcome::Outcome;
use crate::engine::memory::ObjectMemory;

/// The end of the execution of one decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutionEnd {
    /// This status stands now.
    Written(CorrectionStatus),
    /// The finalizer was put on, or taken off.
    Patched,
    /// The correction came to an end.
    Corrected {
        /// The correction.
        correction: Box<Correction>,
        /// The outcome.
        outcome: Outcome,
        /// The status that says so; `None` where there is nothing to say, or where the next leader says it.
        status: Option<CorrectionStatus>,
        /// True if that status stands on the object. It is not waited for on an object that is being deleted.
        written: bool,
    },
    /// Another writer was faster, or the API server did not answer: it is decided anew.
    Lost,
    /// The API server refuses the write, for the reason in this sentence.
    Refused {
        /// It was a write of the finalizer, and not of a status.
        finalizer: bool,
        /// The sentence.
        sentence: String,
    },
    /// The object as it was read live asks for nothing.
    Nothing,
    /// The object could not be read live, for the reason in this sentence.
    Unread(String),
    /// The correction was called off before anything was sent.
    CalledOff,
    /// A host asked to be left alone before anything was written or sent.
    Postponed(Moment),
    /// Another Job of the object has not ended: it is decided anew, this much later.
    PutOff(Duration),
    /// Another object that is out of sight claims the resource still.
    StillTaken,
    /// The object is gone.
    Gone,
}

impl ExecutionEnd {
    /// Returns true if a correction that had begun counts as none: nothing was sent.
    #[must_use]
    pub const fn sent_nothing(&self) -> bool {
        match self {
            Self::Corrected { outcome, .. } => outcome.sent_nothing(),
            _ => true,
        }
    }

    /// Keeps what must not be forgotten. `begun` says that the memory counts a correction that has begun. Gives whether the
    /// API server refuses writes to the object since now.
    pub fn remember(&self, memory: &mut ObjectMemory, begun: bool, now: Moment) -> bool {
        if begun && !matches!(self, Self::Corrected { .. }) {
            memory.call_off();
        }
        match self {
            Self::Written(status) => memory.land_status(status.clone(), now),
            Self::Patched => memory.writes.land_finalizer(now),
            Self::Corrected { correction, outcome, status, written } => {
                memory.finish(correction, outcome, now);
                match status.clone() {
                    Some(status) if *written => memory.land_outcome(status),
                    Some(status) => memory.know(status),
                    None => {}
                }
            }
            Self::Postponed(until) => memory.delay.hold_until(*until),
            Self::PutOff(pause) => memory.delay.await_job(now + *pause),
            Self::Lost | Self::CalledOff => memory.writes.lose_race(now),
            Self::Refused { finalizer: true, .. } => return memory.writes.refuse_finalizer(now),
            Self::Refused { finalizer: false, .. } => return memory.writes.refuse_status(now),
            Self::Nothing | Self::StillTaken | Self::Unread(_) | Self::Gone => {}
        }
        false
    }
}
