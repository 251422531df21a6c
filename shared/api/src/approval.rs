//! Mode Approve: the hash by which a person approves exactly one correction.
//!
//! The controller computes it for the correction that it would begin, and `kubectl drift approve` for the correction
//! that it shows.

use serde_json::json;

use crate::condition::{Condition, DesiredHash};
use crate::identity::ResourceName;
use crate::object::LeanObject;

/// The action of a deletion.
const DELETE: &str = "delete";

/// A correction that needs approval.
#[derive(Clone, Copy, Debug)]
pub struct ApprovedCorrection<'c> {
    /// The action in a word.
    pub action: &'static str,
    /// The number that the correction and its retries have.
    pub number: u64,
    /// The external resource.
    pub resource: &'c ResourceName,
    /// The desired state; `None` if it is unknown.
    pub desired_hash: Option<DesiredHash>,
    /// Fingerprint of the inputs of the target's requests.
    pub correct_hash: u64,
}

impl ApprovedCorrection<'_> {
    /// Returns the hash that approves this correction of the object and no other one.
    ///
    /// A deletion has no number: it is repeated until the resource is gone. Values that the verdict does not show are
    /// not in the hash, because a reader of the condition could guess them.
    #[must_use]
    pub fn hash(&self, object: &LeanObject) -> String {
        let verdict = self.verdict(object);
        let content = json!({
            "uid": object.id.uid.to_string(),
            "generation": object.generation,
            "action": self.action,
            "number": if self.action == DELETE { 0 } else { self.number },
            "scope": self.resource.scope.to_string(),
            "identity": &*self.resource.identity,
            "desired": self.desired_hash.map(|desired| desired.to_string()),
            "observed": verdict.map(|verdict| json!([&*verdict.reason, verdict.message.sentence()])),
            // Drift that comes back is another drift, also if it looks the same.
            "since": verdict.map(|verdict| verdict.last_transition_time.to_string()),
            "fields": verdict.and_then(|verdict| Some(verdict.message.tag()?.fields.to_string())),
            "correct": self.correct_hash.to_string(),
        });
        DesiredHash::of(&content).to_string()
    }

    /// Returns the verdict that the correction follows from. A deletion needs none.
    #[must_use]
    pub fn verdict<'o>(&self, object: &'o LeanObject) -> Option<&'o Condition> {
        object.conditions.observed().filter(|_| self.action != DELETE)
    }
}

impl LeanObject {
    /// Returns the hash of the approved correction.
    #[must_use]
    pub fn approved(&self) -> Option<&str> {
        self.asked.as_ref()?.approved.as_deref()
    }

    /// Returns the hash of the correction that awaits approval, by the object's record.
    #[must_use]
    pub fn awaits_approval(&self) -> Option<String> {
        let record = self.conditions.correction_status();
        record.awaits_approval().filter(|hash| self.approved() != Some(*hash)).map(str::to_owned)
    }
}
