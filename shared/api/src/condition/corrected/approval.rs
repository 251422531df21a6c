//! The record of a correction that awaits approval: `update of /ttl awaits approval 3f2a9c71d0e4b5a6; before: …`.

use super::CorrectionStatus;
use crate::condition::CorrectedReason;

/// The words before the hash of a correction that awaits approval.
const AWAITS_APPROVAL: &str = " awaits approval ";
/// The words between the hash and the failure of the correction before.
const BEFORE: &str = "; before: ";

impl CorrectionStatus {
    /// Returns the record of an object whose next correction awaits approval. It repeats the failure of the last one.
    #[must_use]
    pub fn awaiting_approval(&self, what: &str, hash: &str, generation: Option<i64>) -> Self {
        let before = self.failure().map(|failure| format!("{BEFORE}{failure}")).unwrap_or_default();
        let text = format!("{what}{AWAITS_APPROVAL}{hash}{before}");
        self.keeping(CorrectedReason::AwaitingApproval, &text, generation)
    }

    /// Returns the hash of the correction that awaits approval.
    #[must_use]
    pub fn awaits_approval(&self) -> Option<&str> {
        let is_awaited = self.reason == Some(CorrectedReason::AwaitingApproval);
        let own = self.text.split_once(BEFORE).map_or(&*self.text, |(own, _)| own);
        // Names of fields, which may be any text, come before the hash.
        own.rsplit_once(AWAITS_APPROVAL).filter(|_| is_awaited).map(|(_, hash)| hash)
    }

    /// Returns the failure of the last correction.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        match self.reason? {
            CorrectedReason::CorrectionFailed => Some(&self.text),
            CorrectedReason::AwaitingApproval => self.text.split_once(BEFORE).map(|(_, failure)| failure),
            _ => None,
        }
    }
}
