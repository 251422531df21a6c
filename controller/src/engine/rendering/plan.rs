//! The plan of one correction before any request is sent: which steps write, and where its deletion ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use drift_api::condition::SecretMarks;

/// Steps of one correction, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// All steps, in order.
    pub steps: Vec<PlannedStep>,
    /// Number of leading steps that delete the resource. The last write among them determines if it is gone.
    pub deletion: usize,
    /// Current versions of the object's secrets.
    pub secrets: SecretMarks,
}

/// One step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedStep {
    /// Display name; `None` if the action has one unnamed step.
    pub label: Option<Arc<str>>,
    /// True if it only looks something up for later steps.
    pub looks_up: bool,
    /// True if it is sent for each item of a list from a response, which may be one page of several.
    pub lists_answers: bool,
    /// Names of the secrets that it sends.
    pub sends: BTreeSet<String>,
}

impl Plan {
    /// Returns true if the step writes.
    #[must_use]
    pub fn writes(&self, index: usize) -> bool {
        self.steps.get(index).is_some_and(|step| !step.looks_up)
    }

    /// Returns the names of all secrets that its writes from this step on may send.
    #[must_use]
    pub fn sends_from(&self, index: usize) -> BTreeSet<String> {
        let writes = self.steps.iter().skip(index).filter(|step| !step.looks_up);
        writes.flat_map(|step| step.sends.iter().cloned()).collect()
    }

    /// Returns the display name of the step.
    #[must_use]
    pub fn label(&self, index: usize) -> Option<Arc<str>> {
        self.steps.get(index)?.label.clone()
    }
}
