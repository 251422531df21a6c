//! One correction as a value: its action, its resource, its outcome, and the reason for waiting.

pub mod claim;
pub mod correction;
pub mod doubt;
pub mod finalizer_patches;
mod idempotency_key;
pub mod outcome;
mod outcome_log;
pub mod unseen_create;

pub use claim::{Action, Permission};
pub use correction::{AskedFor, Correction};
pub use drift_api::held_corrections::Held;
pub use outcome::{Code, Doubt, FailedStep, Outcome, Reach, Refusal, StepAnswer, StepOutcome, Uncertainty};
