//! Decides if a mark on an object is an orphan: no active target selects the object, and certainly none is
//! only temporarily missing.
//!
//! A target counts as removed only if its ConfigMap exists, parses completely and lacks it. A missing ConfigMap, or one
//! with a bad document, proves nothing, so the marks of its targets stay.

use crate::cleanup::selections::{Selection, Selections};
use crate::client::KindName;
use crate::config::ActiveTargets;
use drift_api::object::LeanObject;

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

/// Returns true if the state of a noted target is known. The ConfigMap that has it now counts, otherwise the last one
/// that had it: a target keeps its name when it moves to another ConfigMap.
#[must_use]
pub fn is_decided(active: ActiveTargets<'_>, selection: &Selection, config_map: &str) -> bool {
    let present = active.targets.get(&selection.target).map(|target| target.document.config_map.as_str());
    active.whole.contains(present.unwrap_or(config_map))
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
    covering.any(|(selection, config_map)| !is_decided(active, selection, config_map))
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
