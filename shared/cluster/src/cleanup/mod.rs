//! What targets leave on objects when they go, and when it may be taken away.
//!
//! Each program notes on its own Lease what its targets select, before it first writes to an object of theirs. What is
//! gone from the configuration is known from these notes, also by a process that never saw the target. Pure: it takes
//! the notes, what is in force and the time, and says what is to be done. It must not know what a program puts on objects.

mod judgement;
mod ledger;
mod note_board;
mod notes;
mod parts;
mod scopes;
mod sweep;

pub use judgement::{InForce, Judgement, is_decided, is_in_doubt, judge, left_scopes};
pub use ledger::{Duty, Ledger, SweepEnd};
pub use note_board::{HeldNote, NoteBoard};
pub use notes::{KindName, Notes, Scope};
pub use scopes::IncompleteScopes;

pub use parts::{CleanUp, CleanUpParts, Cleaner, Leavers};

#[cfg(test)]
mod sweep_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
