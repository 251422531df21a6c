//! One kind of traces to remove from objects that no target selects, with its delay and rate.
//!
//! A program says what that is.

use std::time::Duration;

use crate::client::ResolvedKind;
use crate::client::WriteError;
use drift_api::object::LeanObject;
use drift_api::timing::backoff::Series;

/// One thing that a program puts on objects, and how it takes it off.
pub trait Cleaner {
    /// The label under which it is counted.
    const OUTCOME: &'static str;

    /// Returns true if it stands on the object.
    fn is_marked(&self, object: &LeanObject) -> bool;

    /// Takes it off an object as it was just read. A refusal is news at the first try only.
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
    /// The time that no target must have selected an object.
    pub patience: Duration,
    /// The least time between two objects.
    pub spacing: Duration,
    /// Objects at once.
    pub at_once: usize,
    /// The pauses after failures.
    pub retries: Series,
    /// True if nothing of ours is left on an object afterwards: what is noted of it is struck out then.
    pub is_last: bool,
}

impl SweepSettings {
    /// A finalizer holds up whoever deletes the object. Five seconds: a person renames a target, or relabels an object, by
    /// two commands, and a watch tells within one second. A third of what a small API server takes, and a quarter of our
    /// calls.
    #[must_use]
    pub const fn of_finalizers() -> Self {
        let (patience, spacing) = (Duration::from_secs(5), Duration::from_millis(5));
        Self { patience, spacing, at_once: 8, retries: Series::WRITE_REFUSED, is_last: false }
    }

    /// Nobody waits for a condition to go: 50 a second, a twelfth of what a small API server takes.
    #[must_use]
    pub const fn of_conditions(patience: Duration) -> Self {
        let spacing = Duration::from_millis(20);
        Self { patience, spacing, at_once: 1, retries: Series::CLEAN_UP, is_last: true }
    }
}
