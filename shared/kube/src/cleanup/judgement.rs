//! Whether what stands on an object was left there: no active target selects it, and it is certain that none is only
//! out of sight.
//!
//! A target counts as gone only when its ConfigMap exists, parses whole and lacks it. A ConfigMap that is missing, or has a bad
//! document, says nothing: whatever its targets may have written stays.

use crate::cleanup::selections::{Selection, Selections};
use crate::client::KindName;
use crate::config::ActiveTargets;
use drift_api::object::LeanObject;

/// The relation of an object to all targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// An active target selects it.
    Selected,
    /// A noted target may select it of which nothing is known at the moment.
    Undecided,
    /// Targets may have selected it, and none does.
    Left,
    /// No target was ever noted that could have selected it: what stands there is not ours to take away.
    Foreign,
}

/// Returns true if it is known what has become of a noted target. The ConfigMap that has it now counts, else the one that had
/// it last: a target keeps its name when it moves to another ConfigMap.
#[must_use]
pub fn is_decided(active: ActiveTargets<'_>, selection: &Selection, config_map: &str) -> bool {
    let present = active.targets.get(&selection.target).map(|target| target.document.config_map.as_str());
    active.whole.contains(present.unwrap_or(config_map))
}

/// Returns true if some noted target that may have had objects of that kind in that namespace is undecided.
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
