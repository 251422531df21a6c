//! Removes what targets leave on objects when they go.
//!
//! Each program notes on its own Lease what its targets select, before it first writes to an object of theirs. What is gone from the
//! configuration is known from these notes, also by a process that never saw the target. Selections and schedule are pure: they take
//! the notes, what is active and the time, and say what is to be done.

mod cleaner;
mod collector;
mod context;
mod judgement;
mod missing;
mod noted;
mod schedule;
mod scopes;
mod selections;
mod snapshot;

pub use cleaner::{Cleaner, SweepSettings};
pub use collector::Collector;
pub use context::{CleanedObjects, CollectorContext};
pub use judgement::{Judgement, is_decided, is_in_doubt, judge};
pub use missing::MissingTargets;
pub use noted::{HeldNote, NotedSelections};
pub use schedule::{Duty, LookEnd, Schedule};
pub use scopes::IncompleteScopes;
pub use selections::{Selection, Selections, namespaces_of};

#[cfg(test)]
mod collector_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
