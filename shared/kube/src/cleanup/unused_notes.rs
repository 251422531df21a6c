//! Proves from a complete list of a kind that a note protects nothing.
//!
//! The note of a former name or scope protects objects that no active target selects, and claims in its scope. The list
//! is counted before labels, because labels change. Pure.

use crate::cleanup::known::KnownTargets;
use crate::cleanup::selections::Selection;
use crate::client::KindName;
use drift_api::condition::{Claim, CorrectionStatus};
use drift_api::identity::ScopeId;
use drift_api::object::LeanObject;

/// Notes of one kind that no object of a list has needed so far.
#[derive(Debug)]
pub(super) struct UnusedNotes {
    notes: Vec<(Selection, ScopeId)>,
}

impl UnusedNotes {
    /// Begins a list. A note without a scope, which an older version wrote, is never proved unused.
    pub(super) fn new(notes: Vec<Selection>) -> Self {
        let with_scope = notes.into_iter().filter_map(|note| {
            let scope = note.identity_scope()?;
            Some((note, scope))
        });
        Self { notes: with_scope.collect() }
    }

    /// Drops the notes that this object needs. `is_marked` if it has a mark that its program must be able to remove.
    pub(super) fn see(&mut self, known: KnownTargets<'_>, kind: &KindName, object: &LeanObject, is_marked: bool) {
        let namespace = object.id.namespace.as_deref();
        let target = known.selecting(kind, object);
        self.notes.retain(|(note, noted)| {
            let is_used = match target {
                None => is_marked,
                // A former scope does not show which credentials its text listed.
                Some(target) if target.has_accounts() => {
                    target.scope.id != *noted && object.conditions.corrected().is_some()
                }
                Some(target) => target.scope.id != *noted && may_claim_in(object, *noted),
            };
            !(is_used && note.covers(kind, namespace))
        });
    }

    /// Ends a complete list. Returns the notes that nothing needs.
    pub(super) fn end(self) -> Vec<Selection> {
        self.notes.into_iter().map(|(note, _)| note).collect()
    }
}

/// Returns true if the object's record has a claim in that scope. A record that this version cannot read may have one.
fn may_claim_in(object: &LeanObject, scope: ScopeId) -> bool {
    let Some(condition) = object.conditions.corrected() else { return false };
    let Some(status) = CorrectionStatus::read(condition) else { return true };
    status.claim.as_ref().map(Claim::name).is_some_and(|name| name.is_in(scope))
}
