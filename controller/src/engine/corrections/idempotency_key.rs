//! The idempotency key of each request of a correction.

use drift_api::mutants::{Mutant, is_planted};

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;

impl Correction {
    /// The key by which the external system knows a request that it has seen: the same for every try until an outcome
    /// is definite, and another one where the request is. Each action has its own: the stored answer to a creation in
    /// doubt must stand neither for the update nor for the deletion that follows when it turns out to have happened.
    /// A Secret that moved makes another request. `content` is of the request where that is made of what a retry may see change: answers, or what differs.
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
        let desired_hash = self.desired_hash.filter(|_| !is_planted(Mutant::AnyKey));
        let desired_hash = desired_hash.map_or_else(|| "none".to_owned(), |desired_hash| desired_hash.to_string());
        key.push_str(&format!(
            "-{desired_hash}-{:016x}",
            self.correct_hash ^ self.sent_versions ^ content.unwrap_or_default()
        ));
        key
    }

    /// The number by which the external system knows the request.
    #[must_use]
    pub const fn asked_as(&self) -> u64 {
        if self.resumes { self.before.correction } else { self.number }
    }
}
