//! The common vocabulary of both programs: names, time as a value, the two conditions, the lean object, identity.
//!
//! Pure: functions over values.

pub mod approval;
pub mod attestation;
pub mod collections;
pub mod condition;
mod facts;
pub mod held_corrections;
pub mod identity;
pub mod lease;
pub mod names;
pub mod object;
pub mod printable;
pub mod resource_version;
pub mod secrets;
mod short_hash;
pub mod timing;
pub mod unwritten;

pub use approval::{ApprovedCorrection, ObjectInputs};
pub use attestation::{Attestation, Exceptions};
pub use collections::fifo::Fifo;
pub use collections::shared_text::SharedText;
pub use condition::{
    Claim, ClaimedName, Condition, ConditionStatus, Conditions, CorrectedReason, CorrectionStatus, CurrentVerdict,
    DesiredHash, DifferingFields, NotedSecrets, ObservedReason, Placed, PollRequest, SecretMark, SecretMarks,
    StatusFields, StoredIds, Tag, TransitionTime, UnseenCreate, Verdict,
};
pub use held_corrections::{
    BreakerCounts, Held, HeldCorrections, HeldObject, Hold, ObjectHold, TargetHold, TargetHolds,
};
pub use identity::{
    Claimant, Holders, IdentityIndex, ObjectRef, Ownership, ResourceName, Rights, ScopeId, Selected, Uid,
};
pub use object::cluster_resource::{ClusterResource, ObjectName, ResourceError};
pub use object::field_paths::FieldPaths;
pub use object::kept_fields::{KeptFields, KeptObject};
pub use object::object_view::{ObjectView, OpenView};
pub use object::{LeanObject, ObjectId, SeenObject};
pub use resource_version::ResourceVersion;
pub use secrets::labelled_secrets::{
    CredentialError, LabelledSecret, LabelledSecrets, SecretVersion, without_line_end,
};
pub use short_hash::short_hash;
pub use timing::backoff::{Backoff, Series};
pub use timing::moment::Moment;
pub use timing::quiet_budget::QuietBudget;
pub use timing::token_bucket::TokenBucket;
pub use timing::work_queue::WorkQueue;
pub use unwritten::{Doubt, Unwritten, UnwrittenTargets, UnwrittenWord};
