//! What can be decided for one object, as values that the shell carries out.
//!
//! It must not know why anything is decided, nor how it is done.

use drift_model::moment::Moment;

use super::claim::Action;
use super::held::Held;
use super::note::NoteChange;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing, until something changes.
    Nothing(Held),
    /// Nothing now; look again then.
    Wait {
        /// When.
        until: Moment,
        /// Why.
        why: Held,
    },
    /// Correct the external system.
    Correct(Correction),
    /// Delete the external resource, then take the finalizer off.
    Delete(Correction),
    /// Write a note.
    Note(NoteChange),
    /// Remove the note.
    RemoveNote,
    /// Put the finalizer on.
    PutFinalizer,
    /// Take the finalizer off.
    ReleaseFinalizer {
        /// The external resource is left behind, and an Event says so.
        left_behind: bool,
    },
}

/// One correction to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// What.
    pub action: Action,
    /// K + 1, the number it will have once its outcome is definite.
    pub number: u64,
    /// The name of the external resource.
    pub identity: String,
    /// The claim is to be laid first.
    pub claim_first: bool,
    /// The finalizer is to be put on before the claim.
    pub put_finalizer: bool,
    /// The generation acted on.
    pub generation: Option<i64>,
}

impl Correction {
    /// The key by which the external system knows a request that it has seen: the same for every try until an outcome
    /// is definite. Each action has its own: the stored answer to a creation in doubt must stand neither for the update
    /// nor for the deletion that follows when it turns out to have happened.
    #[must_use]
    pub fn idempotency_key(&self, uid: &str, step: usize) -> String {
        let mut key = format!("{uid}-{}", self.number);
        key.push_str(match self.action {
            Action::Create => "",
            Action::Update => "-update",
            Action::Delete => "-delete",
        });
        if step > 0 {
            key.push_str(&format!("-{step}"));
        }
        key
    }
}
