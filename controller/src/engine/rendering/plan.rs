//! What the steps of one correction are, before any is sent: which of them write, and where a deletion ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use drift_api::condition::SecretMarks;

/// The steps of one correction, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Each step.
    pub steps: Vec<PlannedStep>,
    /// So many of the first take the resource away. Whether it is gone is judged once, by the last write of them.
    pub deletion: usize,
    /// The object's secrets, in the versions that are sent.
    pub secrets: SecretMarks,
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedStep {
    /// What people are told that it is called; `None` where the action has one only, without a name.
    pub label: Option<Arc<str>>,
    /// It only looks something up, for the steps after it.
    pub looks_up: bool,
    /// The secrets that it sends.
    pub sends: BTreeSet<String>,
}

impl Plan {
    /// Returns true if the step writes.
    #[must_use]
    pub fn writes(&self, index: usize) -> bool {
        self.steps.get(index).is_some_and(|step| !step.looks_up)
    }

    /// The secrets that its writes send, all in all.
    #[must_use]
    pub fn sends(&self) -> BTreeSet<String> {
        let writes = self.steps.iter().filter(|step| !step.looks_up);
        writes.flat_map(|step| step.sends.iter().cloned()).collect()
    }

    /// What people are told that the step is called.
    #[must_use]
    pub fn label(&self, index: usize) -> Option<Arc<str>> {
        self.steps.get(index)?.label.clone()
    }
}
