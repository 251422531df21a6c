//! The notes of one kind at one time, with what became of their targets.

use std::collections::BTreeMap;

use drift_api::identity::ScopeId;
use drift_language::ObjectSelection;

use crate::cleanup::selections::Selection;

/// Everything that decides which objects of a kind are selected, and which notes are needed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct KindNotes {
    /// The present selection of each target with a text, and its scope.
    pub(super) selections: Vec<(String, ObjectSelection, ScopeId)>,
    pub(super) notes: BTreeMap<Selection, NoteState>,
}

/// The state of one note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoteState {
    /// True if it is known which objects belong to its target.
    pub(super) is_decided: bool,
    pub(super) needed: NoteUse,
}

/// The use of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteUse {
    /// It is the present selection of its target.
    Present,
    /// The same, in another scope. A complete list may prove that no claim in it is left.
    FormerScope,
    /// Its target has no text, and may return. A complete list may prove that nothing is left.
    Missing,
    /// Its target may select other objects than it did.
    Undecided,
    /// Its target certainly is removed or selects elsewhere.
    Finished,
}

impl KindNotes {
    /// Returns true if `now` differs, apart from removed notes.
    pub(super) fn say_more_than(&self, now: &Self) -> bool {
        let is_news = |(selection, state): (&Selection, &NoteState)| {
            self.notes.get(selection).is_none_or(|before| before.is_decided != state.is_decided)
        };
        self.selections != now.selections || now.notes.iter().any(is_news)
    }

    /// Returns the finished notes.
    pub(super) fn finished(&self) -> impl Iterator<Item = &Selection> + Clone {
        self.notes.iter().filter(|(_, state)| state.needed == NoteUse::Finished).map(|(selection, _)| selection)
    }

    /// Returns the notes that a complete list may prove unused.
    pub(super) fn unproved(&self) -> impl Iterator<Item = &Selection> + Clone {
        let is_unproved = |state: &NoteState| matches!(state.needed, NoteUse::Missing | NoteUse::FormerScope);
        self.notes.iter().filter(move |(_, state)| is_unproved(state)).map(|(selection, _)| selection)
    }

    /// Returns the notes for which the kind is listed.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Selection> + Clone {
        self.finished().chain(self.unproved())
    }

    /// Removes the finished notes.
    pub(super) fn strike_out(&mut self) {
        self.notes.retain(|_, state| state.needed != NoteUse::Finished);
    }

    /// Removes these notes.
    pub(super) fn forget(&mut self, selections: &[Selection]) {
        self.notes.retain(|selection, _| !selections.contains(selection));
    }
}
