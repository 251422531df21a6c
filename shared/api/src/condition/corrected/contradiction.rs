//! The record of a create that the external system refused because the resource exists already: `exists
//! 3f2a9c71d04b58e6` with the hash of the desired state.
//!
//! It contradicts a poll of the same state that finds nothing. The poller reads it, and its verdict is Unknown then.

use super::CorrectionStatus;
use crate::condition::DesiredHash;

impl CorrectionStatus {
    /// Returns true if the external system refused to create this desired state at this generation because the resource
    /// exists already.
    #[must_use]
    pub fn contradicts_absence(&self, generation: Option<i64>, desired_hash: Option<DesiredHash>) -> bool {
        self.exists.is_some() && self.exists == desired_hash && self.generation == generation
    }

    /// Returns the same record without the contradiction, so that a poll that finds nothing leads to one more create.
    #[must_use]
    pub fn without_contradiction(&self) -> Self {
        Self { exists: None, ..self.clone() }
    }
}
