//! Removes the marks that removed targets leave on objects.
//!
//! Each program notes the selections of its targets on its own Lease before it first writes to one of their objects.
//! These notes show which targets were removed, even to a process that never saw the target. Selections and schedule
//! are pure: they get the notes, the active targets and the time, and return the work to do.

mod cleaner;
mod collector;
mod context;
mod kind_notes;
mod known;
mod left_reports;
mod missing;
mod noted;
mod schedule;
mod selections;
mod unused_notes;

pub use cleaner::{Cleaner, Stage, SweepSettings};
pub use collector::Collector;
pub use context::{CleanedObjects, CollectorContext};
pub use known::{IncompleteScopes, Judgement, KnownTargets};
pub use left_reports::{ReportSweep, SweepStep, judge_report};
pub use missing::MissingTargets;
pub use noted::{HeldNote, NotedSelections};
pub use schedule::{Duty, LookEnd, Schedule};
pub use selections::{Note, Selection, Selections, namespaces_of};

#[cfg(test)]
mod collector_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
