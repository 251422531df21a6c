//! The two conditions, which are the interface between the programs: their words, the tag, K and the claim, and when a
//! change is written.
//!
//! Everything here is a function over values.

mod corrected;
mod desired_hash;
mod entry;
mod fields;
mod generation_place;
mod noted_secrets;
mod observed;
mod readiness;
mod reason;
mod status_fields;
mod tag;
mod text;
mod transition_time;

pub use corrected::{Claim, ClaimedName, CorrectionStatus, StoredIds, UnseenCreate};
pub use desired_hash::DesiredHash;
pub use desired_hash::canonical;
pub use entry::{Condition, ConditionKind, ConditionStatus, Conditions, ConditionsList, Placed};
pub use fields::DifferingFields;
pub use generation_place::{GenerationPlace, MAX_GENERATION_BYTES};
pub use noted_secrets::{NotedSecrets, SecretMark, SecretMarks};
pub use observed::{CurrentVerdict, Verdict};
pub use readiness::{EntryWrite, ReadinessEntries, readiness_writes};
pub use reason::{CorrectedReason, ObservedReason};
pub use status_fields::StatusFields;
pub use tag::{PollRequest, Tag};
pub use text::{Message, closed_text, named_fields};
pub use transition_time::TransitionTime;

pub use crate::facts::MAX_MESSAGE_BYTES;
