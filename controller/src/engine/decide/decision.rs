//! The decision for one object, as plain data.

use drift_api::condition::CorrectionStatus;
use drift_api::identity::{ObjectRef, ResourceName};
use drift_api::timing::moment::Moment;

use crate::engine::corrections::{Correction, Held};

/// Decision for one object, as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Do nothing until something changes.
    Nothing(Held),
    /// Do nothing now, and look again later.
    Wait {
        /// Time of the next look.
        until: Moment,
        /// Reason for the wait.
        why: Held,
    },
    /// Correct the external system. For a deletion, delete the resource and remove the finalizer once it is gone.
    Correct(Box<Correction>),
    /// Replace the current status. A status without a reason removes the condition.
    WriteStatus(CorrectionStatus),
    /// Write this status, unless a live read shows that one of these objects still claims the resource.
    TakeUp {
        /// External resource that the object names.
        resource: ResourceName,
        /// Objects that held the resource when this object was refused and that no target sees now.
        holders: Vec<ObjectRef>,
        /// Status to write.
        status: CorrectionStatus,
    },
    /// Add the finalizer.
    PutFinalizer,
    /// Remove the finalizer.
    ReleaseFinalizer {
        /// True if the external resource is left behind, which an Event reports.
        left_behind: bool,
    },
}

impl Decision {
    /// Returns the reason to hold the object; `None` if something is done.
    #[must_use]
    pub const fn held(&self) -> Option<Held> {
        match self {
            Self::Nothing(why) | Self::Wait { why, .. } => Some(*why),
            Self::Correct(_)
            | Self::WriteStatus(_)
            | Self::TakeUp { .. }
            | Self::PutFinalizer
            | Self::ReleaseFinalizer { .. } => None,
        }
    }
}
