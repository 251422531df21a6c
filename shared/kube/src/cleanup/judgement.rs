//! Decides if a mark on an object is an orphan: no active target selects the object, and certainly none is
//! only temporarily missing.
//!
//! A target counts as removed only if its ConfigMap exists, parses completely and lacks it, or if a person forgot it. A
//! missing ConfigMap, or one with a bad document, proves nothing, so the marks of its targets stay.

use std::sync::Arc;

use crate::cleanup::selections::{Note, Selection, Selections};
use crate::client::KindName;
use crate::config::ActiveTargets;
use drift_api::object::LeanObject;
use drift_language::{Target, TargetState};

/// The relation of an object to all targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// An active target selects it.
    Selected,
    /// A noted target whose state is currently unknown may select it.
    Undecided,
    /// A target may have selected it, and none does now.
    Left,
    /// No noted target could have selected it, so the mark is not ours to remove.
    Foreign,
}

/// Returns the state of a noted target.
#[must_use]
pub fn state_of(active: ActiveTargets<'_>, selection: &Selection, note: &Note) -> TargetState {
    let target = selection.target.as_str();
    let is_removed = || active.whole.contains(&note.config_map) || active.forgets(target, &note.hash(selection));
    let without_text = || if is_removed() { TargetState::Forgotten } else { TargetState::Missing };
    active.state_of(target).unwrap_or_else(without_text)
}

/// Returns true if it is known which objects belong to a noted target, so that marks on the others may be removed. The
/// ConfigMap that has it now counts, otherwise the last one that had it: a target keeps its name when it moves.
#[must_use]
pub fn is_decided(active: ActiveTargets<'_>, selection: &Selection, note: &Note) -> bool {
    let is_whole = |target: &Arc<Target>| active.whole.contains(&target.document.config_map);
    match state_of(active, selection, note) {
        TargetState::Live => active.targets.get(&selection.target).is_some_and(is_whole),
        state => state.rules().releases,
    }
}

/// Returns true if a noted target that may have had objects of that kind in that namespace is undecided.
#[must_use]
pub fn is_in_doubt(
    selections: &Selections,
    active: ActiveTargets<'_>,
    kind: &KindName,
    namespace: Option<&str>,
) -> bool {
    let mut covering = selections.iter().filter(|(selection, _)| selection.covers(kind, namespace));
    covering.any(|(selection, note)| !is_decided(active, selection, note))
}

/// Judges an object that was read with its labels (`metadata.labels` in its view).
#[must_use]
pub fn judge(selections: &Selections, active: ActiveTargets<'_>, kind: &KindName, object: &LeanObject) -> Judgement {
    let (namespace, view) = (object.id.namespace.as_deref(), object.view.open());
    let labels = view.pointer("/metadata/labels");
    if active.of_kind(kind).any(|target| target.objects.selects(namespace, labels)) {
        Judgement::Selected
    } else if is_in_doubt(selections, active, kind, namespace) {
        Judgement::Undecided
    } else if selections.iter().any(|(selection, _)| selection.covers(kind, namespace)) {
        Judgement::Left
    } else {
        Judgement::Foreign
    }
}
