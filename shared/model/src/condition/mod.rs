//! The two conditions by which the programs meet: their words, their tag and note, when a change is written.
//!
//! Everything here is a function over values. It must not know of clients, clocks or tasks.

mod corrected;
mod entry;
mod observed;
mod patch;
mod reason;
mod tag;
mod text;
mod wish;

pub use corrected::Note;
pub use entry::{Condition, ConditionStatus, Conditions, Placed};
pub use observed::{Standing, Verdict};
pub use patch::{PatchBase, condition_patch, removal_patch};
pub use reason::{CorrectedReason, ObservedReason};
pub use tag::Tag;
pub use text::{MAX_MESSAGE_BYTES, closed_text};
pub use wish::Wish;
pub use wish::canonical;
