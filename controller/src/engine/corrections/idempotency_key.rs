//! Idempotency key of each request of a correction.

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;

impl Correction {
    /// Returns the key by which the external system recognizes a repeated request. It stays the same for every try
    /// until an outcome is definite, and differs for different requests. Each action has its own key: the stored
    /// response to a creation in doubt must not answer the update or deletion that follows if the creation succeeded. A
    /// changed Secret makes another request. `content` is the hash of the request if it depends on data that may change
    /// between tries: responses, or the differing fields.
    #[must_use]
    pub fn idempotency_key(&self, uid: &str, step: usize, content: Option<u64>) -> String {
        let mut key = format!("{uid}-{}", self.asked_as());
        key.push_str(match self.action {
            Action::Create => "",
            Action::Update => "-update",
            Action::Replace => "-replace",
            Action::Delete => "-delete",
            Action::Nudge => "-nudge",
        });
        if step > 0 {
            key.push_str(&format!("-{step}"));
        }
        let desired_hash = self.desired_hash.map_or_else(|| "none".to_owned(), |desired_hash| desired_hash.to_string());
        key.push_str(&format!(
            "-{desired_hash}-{:016x}",
            self.correct_hash ^ self.sent_versions ^ content.unwrap_or_default()
        ));
        key
    }

    /// Returns the number by which the external system knows the request.
    #[must_use]
    pub const fn asked_as(&self) -> u64 {
        match self.creating {
            Some(creating) => creating.number,
            None if self.resumes => self.before.correction,
            None => self.number,
        }
    }
}
