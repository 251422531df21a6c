//! The selections of one kind at one point in time.

use std::collections::BTreeSet;

use crate::cleanup::judgement::{is_decided, state_of};
use crate::cleanup::selections::{Selection, Selections};
use crate::client::KindName;
use crate::config::ActiveTargets;
use drift_api::identity::ScopeId;
use drift_language::{ObjectSelection, TargetState};

/// Everything that decides which objects of a kind are selected, and the targets of unknown state.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Snapshot {
    selections: Vec<(String, ObjectSelection, ScopeId)>,
    undecided: BTreeSet<Selection>,
    /// Undecided selections of targets without a text.
    missing: BTreeSet<Selection>,
    noted: BTreeSet<Selection>,
}

impl Snapshot {
    pub(super) fn of(kind: &KindName, selections: &Selections, active: ActiveTargets<'_>) -> Self {
        let noted = || selections.iter().filter(|(selection, _)| selection.kind_name() == *kind);
        let undecided = noted().filter(|(selection, note)| !is_decided(active, selection, note));
        let missing = noted().filter(|(selection, note)| state_of(active, selection, note) == TargetState::Missing);
        let of_kind = active.of_kind(kind).map(|target| (target.name.clone(), target.objects.clone(), target.scope.id));
        Self {
            selections: of_kind.collect(),
            missing: missing.map(|(selection, _)| selection.clone()).collect(),
            undecided: undecided.map(|(selection, _)| selection.clone()).collect(),
            noted: noted().map(|(selection, _)| selection.clone()).collect(),
        }
    }

    /// Returns true if `now` differs, apart from removed notes.
    pub(super) fn say_more_than(&self, now: &Self) -> bool {
        self.selections != now.selections || self.undecided != now.undecided || !now.noted.is_subset(&self.noted)
    }

    /// Returns the noted selections of targets that certainly are removed or select elsewhere.
    pub(super) fn finished(&self) -> impl Iterator<Item = &Selection> + Clone {
        let is_in_use = |selection: &Selection| {
            self.selections.iter().any(|(target, now, _)| *target == selection.target && selection.is_all_of(now))
        };
        self.noted.iter().filter(move |selection| !is_in_use(selection) && !self.undecided.contains(*selection))
    }

    /// Returns the noted selections for which the kind is listed.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Selection> + Clone {
        self.finished().chain(self.unproved())
    }

    /// Returns the noted selections that a complete list may prove unused: those of missing targets, and those of former
    /// scopes of active targets.
    pub(super) fn unproved(&self) -> impl Iterator<Item = &Selection> + Clone {
        let has_other_scope = |selection: &Selection| {
            self.selections.iter().any(|(target, now, scope)| {
                *target == selection.target
                    && selection.is_all_of(now)
                    && selection.identity_scope().is_some_and(|noted| noted != *scope)
            })
        };
        self.noted.iter().filter(move |selection| self.missing.contains(*selection) || has_other_scope(selection))
    }

    /// Removes the finished selections.
    pub(super) fn strike_out(&mut self) {
        let finished: Vec<Selection> = self.finished().cloned().collect();
        self.forget(&finished);
    }

    /// Removes these selections.
    pub(super) fn forget(&mut self, selections: &[Selection]) {
        self.noted.retain(|selection| !selections.contains(selection));
    }
}
