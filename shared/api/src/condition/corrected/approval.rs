//! The failure of the last correction, which later records repeat: `…; before: update: 422: quota exceeded`. One of
//! them is the record of a correction that awaits approval: `update of /ttl awaits approval 3f2a9c71d0e4b5a6; before:
//! …`.

use super::CorrectionStatus;
use crate::condition::CorrectedReason;

/// The words before the hash of a correction that awaits approval.
const AWAITS_APPROVAL: &str = " awaits approval ";
/// The words between the hash and the failure of the correction before.
const BEFORE: &str = "; before: ";

impl CorrectionStatus {
    /// Splits a text into the controller's own part and the failure that it repeats, with the words between them.
    #[must_use]
    pub fn split_failure(text: &str) -> (&str, &str) {
        text.split_at(text.find(BEFORE).unwrap_or(text.len()))
    }

    /// Returns the record of an object whose next correction awaits approval. It repeats the failure of the last one.
    #[must_use]
    pub fn awaiting_approval(&self, what: &str, hash: &str, generation: Option<i64>) -> Self {
        let before = self.last_failure().map(|failure| format!("{BEFORE}{failure}")).unwrap_or_default();
        let text = format!("{what}{AWAITS_APPROVAL}{hash}{before}");
        self.keeping(CorrectedReason::AwaitingApproval, &text, generation)
    }

    /// Returns the hash of the correction that awaits approval.
    #[must_use]
    pub fn awaits_approval(&self) -> Option<&str> {
        let is_awaited = self.reason == Some(CorrectedReason::AwaitingApproval);
        let (own, _) = Self::split_failure(&self.text);
        // Names of fields, which may be any text, come before the hash.
        own.rsplit_once(AWAITS_APPROVAL).filter(|_| is_awaited).map(|(_, hash)| hash)
    }

    /// Returns a text with the failure of the last correction, so that readers do not miss its reason. An interruption
    /// is none, because no server refused anything.
    #[must_use]
    pub fn after_failure(&self, text: &str) -> String {
        match self.last_failure().filter(|_| !self.is_interrupted()) {
            Some(failure) => format!("{text}{BEFORE}{failure}"),
            None => text.to_owned(),
        }
    }

    /// Returns the failure of the last correction, if the record is about that or about an approval.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        match self.reason? {
            CorrectedReason::CorrectionFailed | CorrectedReason::AwaitingApproval => self.last_failure(),
            _ => None,
        }
    }

    /// Returns true if the last correction failed, also in records that repeat its failure.
    #[must_use]
    pub fn repeats_failure(&self) -> bool {
        self.last_failure().is_some()
    }

    /// Returns the failure of the last correction, also from records that repeat it.
    fn last_failure(&self) -> Option<&str> {
        match self.reason? {
            CorrectedReason::CorrectionFailed => Some(&self.text),
            CorrectedReason::AwaitingApproval
            | CorrectedReason::AttemptsExhausted
            | CorrectedReason::CorrectionStarted => self.text.split_once(BEFORE).map(|(_, failure)| failure),
            _ => None,
        }
    }
}
