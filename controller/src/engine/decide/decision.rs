//! The decision for one object, as plain data.

use drift_api::condition::CorrectionStatus;
use drift_api::identity::ObjectRef;
use drift_api::identity::ResourceName;
use drift_api::timing::moment::Moment;

use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::held::Held;

/// The decision for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, until something changes.
    Nothing(Held),
    /// Nothing now; look again then.
    Wait {
        /// When.
        until: Moment,
        /// Why.
        why: Held,
    },
    /// Correct the external system, or delete what is there and take the finalizer off once it is gone.
    Correct(Box<Correction>),
    /// Write this in place of what stands; a status without reason removes the condition.
    WriteStatus(CorrectionStatus),
    /// Write this status, unless one of these objects, read live, still claims the resource.
    TakeUp {
        /// The resource.
        resource: ResourceName,
        /// The objects that had it when this one was refused, and that no target sees now.
        holders: Vec<ObjectRef>,
        /// The status.
        status: CorrectionStatus,
    },
    /// Put the finalizer on.
    PutFinalizer,
    /// Take the finalizer off.
    ReleaseFinalizer {
        /// The external resource is left behind, and an Event says so.
        left_behind: bool,
    },
}
