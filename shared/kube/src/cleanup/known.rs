//! The targets as they are known at one time: noted on the Lease, with a text in the ConfigMaps, listed by the watches.
//!
//! Every question if a target is known, listed or decided is answered here. A target counts as removed only if its
//! ConfigMap exists, parses completely and lacks it, or if a person forgot it. A missing ConfigMap, or one with a bad
//! document, proves nothing, so the marks of its targets stay. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::identity::ScopeId;
use drift_api::object::{LeanObject, ObjectId};
use drift_language::{ConditionsPlace, Target, TargetState};

use crate::cleanup::kind_notes::{KindNotes, NoteState, NoteUse};
use crate::cleanup::selections::{Note, Selection, Selections};
use crate::client::KindName;
use crate::config::Configuration;

/// The noted targets, and those with a text.
#[derive(Clone, Copy, Debug)]
pub struct KnownTargets<'a> {
    notes: &'a Selections,
    configuration: &'a Configuration,
}

/// The relation of an object to all targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// An active target selects it.
    Selected,
    /// A noted target whose state is currently unknown may select it.
    Undecided,
    /// A target of its kind has not received all its objects, or a removed one still has the object.
    Unlisted,
    /// A target may have selected it, and none does now.
    Left,
    /// No noted target could have selected it, so the mark is not ours to remove.
    Foreign,
}

/// The scopes of identities in which objects may have claims that are not known yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IncompleteScopes {
    /// Every scope may be incomplete.
    #[default]
    All,
    /// These scopes, each with the targets whose objects are not known.
    These(BTreeMap<ScopeId, BTreeSet<String>>),
}

impl<'a> KnownTargets<'a> {
    /// Combines the notes of the program's Lease with the ConfigMaps.
    #[must_use]
    pub const fn new(notes: &'a Selections, configuration: &'a Configuration) -> Self {
        Self { notes, configuration }
    }

    /// Returns the state of a noted target.
    #[must_use]
    pub fn state_of(self, selection: &Selection, note: &Note) -> TargetState {
        let (target, configuration) = (selection.target.as_str(), self.configuration);
        let is_removed =
            || configuration.whole.contains(&note.config_map) || configuration.forgets(target, &note.hash(selection));
        let without_text = || if is_removed() { TargetState::Forgotten } else { TargetState::Missing };
        configuration.text_state_of(target).unwrap_or_else(without_text)
    }

    /// Returns true if it is known which objects belong to a noted target, so that marks on the others may be removed.
    /// The ConfigMap that has it now counts, otherwise the last one that had it: a target keeps its name when it moves.
    #[must_use]
    pub fn is_decided(self, selection: &Selection, note: &Note) -> bool {
        let is_whole = |target: &Arc<Target>| self.configuration.whole.contains(&target.document.config_map);
        match self.state_of(selection, note) {
            TargetState::Live => self.configuration.targets.get(&selection.target).is_some_and(is_whole),
            state => state.rules().releases,
        }
    }

    /// Returns the targets that are noted, have no text, and are not known to be removed, each with its last ConfigMap.
    /// Before the first list of ConfigMaps there are none.
    #[must_use]
    pub fn missing(self) -> BTreeMap<String, String> {
        let is_missing = |(selection, note): &(&Selection, &Note)| {
            self.configuration.loaded && self.state_of(selection, note) == TargetState::Missing
        };
        let missing = self.notes.iter().filter(is_missing);
        missing.map(|(selection, note)| (selection.target.clone(), note.config_map.clone())).collect()
    }

    /// Returns the active target that owns an object, which was read with its labels (`metadata.labels` in its view), and
    /// keeps the conditions on it.
    #[must_use]
    pub fn selecting(self, kind: &'a KindName, object: &LeanObject) -> Option<&'a Arc<Target>> {
        let (namespace, view) = (object.id.namespace.as_deref(), object.view.open());
        let labels = view.pointer("/metadata/labels");
        let owner = self.configuration.of_kind(kind).find(|target| target.objects.selects(namespace, labels));
        owner.filter(|owner| !owner.objects.keeps_reports())
    }

    /// Returns the active targets of a kind that keep their conditions on the objects. The others leave no mark there.
    fn on_objects(self, kind: &'a KindName) -> impl Iterator<Item = &'a Arc<Target>> + Clone {
        self.configuration.of_kind(kind).filter(|target| !target.objects.keeps_reports())
    }

    /// Judges an object that was read with its labels.
    #[must_use]
    pub fn judge(self, kind: &KindName, object: &LeanObject) -> Judgement {
        match self.selecting(kind, object) {
            Some(_) => Judgement::Selected,
            None => self.judge_unselected(kind, object.id.namespace.as_deref()),
        }
    }

    /// Judges an object by the watches, before it is read. `told` are the targets that received it, and `is_listed`
    /// returns true for a target that received all its objects.
    #[must_use]
    pub fn judge_by_watches(
        self,
        kind: &KindName,
        id: &ObjectId,
        told: &[Arc<str>],
        is_listed: impl Fn(&str) -> bool,
    ) -> Judgement {
        let is_told = |target: &&Arc<Target>| told.iter().any(|one| **one == *target.name);
        let owner = self.configuration.of_kind(kind).find(is_told);
        if owner.is_some_and(|owner| !owner.objects.keeps_reports()) {
            return Judgement::Selected;
        }
        let is_listed = (owner.is_some() || told.is_empty()) && self.on_objects(kind).all(|peer| is_listed(&peer.name));
        match self.judge_unselected(kind, id.namespace.as_deref()) {
            Judgement::Left | Judgement::Foreign if !is_listed => Judgement::Unlisted,
            judgement => judgement,
        }
    }

    /// Judges a report about an object of this kind, which these targets received. `is_listed` returns true for a target
    /// that received all its objects.
    #[must_use]
    pub fn judge_report(
        self,
        kind: &KindName,
        namespace: Option<&str>,
        told: &[Arc<str>],
        is_listed: impl Fn(&str) -> bool,
    ) -> Judgement {
        let keeps = |target: &&Arc<Target>| target.objects.keeps_reports() && target.objects.includes(namespace);
        let is_told = |target: &&Arc<Target>| told.iter().any(|one| **one == *target.name);
        // The first target by name owns the object, and the others skip it.
        let owner = self.configuration.of_kind(kind).find(is_told);
        if owner.as_ref().is_some_and(keeps) {
            return Judgement::Selected;
        }
        let is_certain =
            owner.is_some() || self.configuration.of_kind(kind).filter(keeps).all(|peer| is_listed(&peer.name));
        match self.judge_by_notes(ConditionsPlace::Report, kind, namespace) {
            Judgement::Left if !is_certain => Judgement::Unlisted,
            judgement => judgement,
        }
    }

    fn judge_unselected(self, kind: &KindName, namespace: Option<&str>) -> Judgement {
        self.judge_by_notes(ConditionsPlace::Object, kind, namespace)
    }

    /// Judges what targets with their conditions in this place have left on an object, or beside it.
    fn judge_by_notes(self, place: ConditionsPlace, kind: &KindName, namespace: Option<&str>) -> Judgement {
        let mut covering = self.of_place(place).filter(|(selection, _)| selection.covers(kind, namespace)).peekable();
        if covering.peek().is_none() {
            Judgement::Foreign
        } else if covering.all(|(selection, note)| self.is_decided(selection, note)) {
            Judgement::Left
        } else {
            Judgement::Undecided
        }
    }

    /// Finds the scopes with unknown claims. `is_listed` returns true for an active target with a complete list.
    ///
    /// A target may have objects with claims if it is noted on the Lease. Its claims are known after it has read its
    /// list. They are in its current scope, or in one from before an edit. A target of unknown state, as after a restart
    /// with an invalid document, keeps its scope incomplete. If its note does not contain the scope, all are incomplete.
    #[must_use]
    pub fn incomplete_scopes(self, is_listed: impl Fn(&Target) -> bool) -> IncompleteScopes {
        if !self.configuration.loaded {
            return IncompleteScopes::All;
        }
        let targets = &self.configuration.targets;
        let mut incomplete = BTreeMap::<ScopeId, BTreeSet<String>>::new();
        for target in targets.values().filter(|target| !is_listed(target)) {
            incomplete.entry(target.scope.id).or_default().insert(target.name.clone());
        }
        for (noted, note) in self.of_place(ConditionsPlace::Object) {
            let target = targets.get(&noted.target);
            let is_known = target.map_or_else(|| self.is_decided(noted, note), |target| is_listed(target));
            match noted.identity_scope() {
                _ if is_known => {}
                Some(scope) => _ = incomplete.entry(scope).or_default().insert(noted.target.clone()),
                // The note of an active target without a scope refers to its present one.
                None if target.is_some() => {}
                None => return IncompleteScopes::All,
            }
        }
        IncompleteScopes::These(incomplete)
    }

    /// Returns the notes and selections of one kind.
    pub(super) fn of_kind(self, kind: &KindName) -> KindNotes {
        let noted = self.of_place(ConditionsPlace::Object).filter(|(selection, _)| selection.kind_name() == *kind);
        let state = |(selection, note): (&Selection, &Note)| (selection.clone(), self.note_state(selection, note));
        let of_kind = self.on_objects(kind);
        let selections = of_kind.map(|target| (target.name.clone(), target.objects.clone(), target.scope.id));
        KindNotes { selections: selections.collect(), notes: noted.map(state).collect() }
    }

    /// Returns the notes of targets with reports.
    pub(super) fn with_reports(self) -> impl Iterator<Item = (&'a Selection, NoteState)> {
        let noted = self.of_place(ConditionsPlace::Report);
        noted.map(move |(selection, note)| (selection, self.note_state(selection, note)))
    }

    /// Returns the kinds with noted marks on their objects.
    pub(super) fn kinds(self) -> BTreeSet<KindName> {
        self.of_place(ConditionsPlace::Object).map(|(selection, _)| selection.kind_name()).collect()
    }

    /// Returns the notes of targets whose conditions have this place.
    fn of_place(self, place: ConditionsPlace) -> impl Iterator<Item = (&'a Selection, &'a Note)> {
        self.notes.iter().filter(move |(selection, _)| selection.conditions == place)
    }

    fn note_state(self, selection: &Selection, note: &Note) -> NoteState {
        let is_decided = self.is_decided(selection, note);
        let target = self.configuration.targets.get(&selection.target);
        let scope = target.filter(|target| selection.is_all_of(&target.objects)).map(|target| target.scope.id);
        let needed = match scope {
            // The note of a target with reports has no scope.
            Some(scope) if selection.identity_scope().is_none_or(|noted| noted == scope) => NoteUse::Present,
            Some(_) => NoteUse::FormerScope,
            None if is_decided => NoteUse::Finished,
            None if self.state_of(selection, note) == TargetState::Missing => NoteUse::Missing,
            None => NoteUse::Undecided,
        };
        NoteState { is_decided, needed }
    }
}

impl IncompleteScopes {
    /// Returns true if all claims in a scope are known.
    #[must_use]
    pub fn is_complete(&self, scope: ScopeId) -> bool {
        match self {
            Self::All => false,
            Self::These(incomplete) => !incomplete.contains_key(&scope),
        }
    }

    /// Returns the targets whose objects are not known yet in a scope, for display. `None` if it is complete.
    #[must_use]
    pub fn awaited(&self, scope: ScopeId) -> Option<String> {
        match self {
            Self::All => Some("targets of which nothing is known".to_owned()),
            Self::These(incomplete) => {
                let names: Vec<&str> = incomplete.get(&scope)?.iter().map(String::as_str).collect();
                Some(format!("target {}", names.join(", ")))
            }
        }
    }
}
