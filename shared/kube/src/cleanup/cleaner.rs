//! The interface of the clean-up on objects that no target selects, with its delays and rates.
//!
//! Each program implements it for its own marks: the API server lets it remove no others.

use std::time::Duration;

use crate::client::ResolvedKind;
use crate::client::WriteError;
use drift_api::object::LeanObject;
use drift_api::timing::backoff::Series;

/// The stages in which the marks of an object go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Marks that block something: finalizers.
    Urgent,
    /// All marks. None of the program's own is left on the object afterwards.
    Last,
}

/// The marks that a program puts on objects, and their removal.
pub trait Cleaner {
    /// Returns true if the object has a mark that goes in this stage.
    fn is_marked(&self, object: &LeanObject, stage: Stage) -> bool;

    /// Returns true if the object needs the note of its target while no target selects it.
    fn needs_note(&self, object: &LeanObject) -> bool {
        self.is_marked(object, Stage::Last)
    }

    /// Removes the marks of a stage from a freshly read object. A refusal is reported at the first try only.
    fn clean(
        &self,
        kind: &ResolvedKind,
        object: LeanObject,
        stage: Stage,
        is_first_try: bool,
    ) -> impl Future<Output = Result<(), WriteError>>;
}

/// Delays and rates of a program's sweep.
#[derive(Clone, Copy, Debug)]
pub struct SweepSettings {
    /// The pace of the urgent stage, if the program has one.
    urgent: Option<Pace>,
    last: Pace,
}

/// Delay and rate of one stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Minimum time without a target that selects the object.
    pub(super) patience: Duration,
    /// Minimum time between two objects.
    pub(super) spacing: Duration,
    /// Maximum number of concurrent objects.
    pub(super) at_once: usize,
    /// The delays after failures.
    pub(super) retries: Series,
}

impl Pace {
    /// The pace for finalizers, which block the deletion of objects. Five seconds, because a person renames a target,
    /// or relabels an object, with two commands, and a watch reports within one second. The rate is a third of the
    /// capacity of a small API server, and a quarter of our calls.
    const FINALIZERS: Self = Self {
        patience: Duration::from_secs(5),
        spacing: Duration::from_millis(5),
        at_once: 8,
        retries: Series::WRITE_REFUSED,
    };
}

impl SweepSettings {
    /// Settings for conditions, which are not urgent: 50 a second, a twelfth of the capacity of a small API server.
    #[must_use]
    pub const fn of_conditions(patience: Duration) -> Self {
        let spacing = Duration::from_millis(20);
        Self { urgent: None, last: Pace { patience, spacing, at_once: 1, retries: Series::CLEAN_UP } }
    }

    /// Adds an urgent stage for finalizers, unless they go with the conditions as soon.
    #[must_use]
    pub fn with_finalizers(self) -> Self {
        let urgent = Some(Pace::FINALIZERS).filter(|urgent| urgent.patience < self.last.patience);
        Self { urgent, ..self }
    }

    /// Returns the stages in their order.
    pub(super) fn stages(&self) -> impl Iterator<Item = Stage> + use<> {
        self.urgent.map(|_| Stage::Urgent).into_iter().chain([Stage::Last])
    }

    /// Returns the pace of a stage. Without an urgent stage, all marks go in the last one.
    #[must_use]
    pub(super) fn pace(&self, stage: Stage) -> Pace {
        self.urgent.filter(|_| stage == Stage::Urgent).unwrap_or(self.last)
    }
}

impl Stage {
    /// The outcome label of the metric for a cleaned object.
    #[must_use]
    pub const fn as_label(self) -> &'static str {
        match self {
            Self::Urgent => "released",
            Self::Last => "cleaned",
        }
    }
}
