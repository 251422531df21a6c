//! The end of an execution, and its effect on the object's memory.

use std::time::Duration;

use drift_api::condition::{CorrectedReason, CorrectionStatus};
use drift_api::timing::moment::Moment;

use crate::engine::corrections::{Correction, Outcome};
use crate::engine::memory::ObjectMemory;

/// End of the execution of one decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutionEnd {
    /// This status was written to the object.
    Written(CorrectionStatus),
    /// The finalizer was added or removed.
    Patched,
    /// The correction came to an end.
    Corrected {
        /// Correction that ended.
        correction: Box<Correction>,
        /// Outcome of the correction.
        outcome: Outcome,
        /// Status with the outcome; `None` if there is nothing to write, or if the next leader writes it.
        status: Option<CorrectionStatus>,
        /// True if the object has that status. Objects that are being deleted do not wait for it.
        written: bool,
    },
    /// Another writer was faster, or the API server did not respond. The object is decided anew.
    Lost,
    /// The API server refuses the write.
    Refused {
        /// True for a write of the finalizer, false for a write of a status.
        finalizer: bool,
        /// Reason given by the API server.
        sentence: String,
    },
    /// The live state of the object requires no action.
    Nothing,
    /// The object could not be read live, for this reason.
    Unread(String),
    /// The correction was called off before anything was sent.
    CalledOff,
    /// A host asked for a delay before anything was written or sent.
    Postponed(Moment),
    /// Another Job of the object has not ended. The object is decided anew after this time.
    PutOff(Duration),
    /// Another object, which no target sees, still claims the resource.
    StillTaken,
    /// The object is gone.
    Gone,
}

impl ExecutionEnd {
    /// Returns true if a correction that had begun does not count, because nothing was sent.
    #[must_use]
    pub const fn sent_nothing(&self) -> bool {
        match self {
            Self::Corrected { outcome, .. } => outcome.sent_nothing(),
            _ => true,
        }
    }

    /// Returns true if it records a deletion that finds nothing where a poll still finds the resource.
    #[must_use]
    pub fn misses_what_is_seen(&self) -> bool {
        matches!(self, Self::Written(status) if status.reason == Some(CorrectedReason::DeletionUnclear))
    }

    /// Updates the memory. `begun` is true if the memory already counts the correction as begun. Returns true if the
    /// API server newly refuses writes to the object.
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
