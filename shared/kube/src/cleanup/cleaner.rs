//! The interface of one kind of clean-up on objects that no target selects, with its delay and rate.
//!
//! Each program implements it.

use std::time::Duration;

use crate::client::ResolvedKind;
use crate::client::WriteError;
use drift_api::{LeanObject, Series};

/// A mark that a program puts on objects, and its removal.
pub trait Cleaner {
    /// The outcome label of its metric.
    const OUTCOME: &'static str;

    /// Returns true if the object has the mark.
    fn is_marked(&self, object: &LeanObject) -> bool;

    /// Returns true if the object needs the note of its target while no target selects it.
    fn needs_note(&self, object: &LeanObject) -> bool {
        self.is_marked(object)
    }

    /// Removes the mark from a freshly read object. A refusal is reported at the first try only.
    fn clean(
        &self,
        kind: &ResolvedKind,
        object: LeanObject,
        is_first_try: bool,
    ) -> impl Future<Output = Result<(), WriteError>>;
}

/// Delay and rate of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct SweepSettings {
    /// Minimum time without a target that selects the object.
    pub patience: Duration,
    /// Minimum time between two objects.
    pub spacing: Duration,
    /// Maximum number of concurrent objects.
    pub at_once: usize,
    /// The delays after failures.
    pub retries: Series,
    /// True if no mark of ours is left on an object afterwards. Its note is then removed.
    pub is_last: bool,
}

impl SweepSettings {
    /// Settings for finalizers, which block the deletion of objects. Five seconds, because a person renames a target,
    /// or relabels an object, with two commands, and a watch reports within one second. The rate is a third of the
    /// capacity of a small API server, and a quarter of our calls.
    #[must_use]
    pub const fn of_finalizers() -> Self {
        let (patience, spacing) = (Duration::from_secs(5), Duration::from_millis(5));
        Self { patience, spacing, at_once: 8, retries: Series::WRITE_REFUSED, is_last: false }
    }

    /// Settings for conditions, which are not urgent: 50 a second, a twelfth of the capacity of a small API server.
    #[must_use]
    pub const fn of_conditions(patience: Duration) -> Self {
        let spacing = Duration::from_millis(20);
        Self { patience, spacing, at_once: 1, retries: Series::CLEAN_UP, is_last: true }
    }
}
