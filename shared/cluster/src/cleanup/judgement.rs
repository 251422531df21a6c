//! Whether what stands on an object was left there: no target in force selects it, and it is certain that none is only
//! out of sight.
//!
//! A target counts as gone only when its ConfigMap exists, parses whole and lacks it. A ConfigMap that is missing, or has
//! a bad document, says nothing: whatever its targets may have written stays. This file must not know the time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::cleanup::notes::{KindName, Notes, Scope};
use drift_model::object::LeanObject;
use drift_target::Target;

/// The targets in force, and the ConfigMaps that exist and parse whole.
#[derive(Clone, Copy, Debug)]
pub struct InForce<'a> {
    /// Every target by its name.
    pub targets: &'a BTreeMap<String, Arc<Target>>,
    /// The ConfigMaps whose word is complete.
    pub whole: &'a BTreeSet<String>,
}

/// What an object is to all targets together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// A target in force selects it.
    Selected,
    /// A noted target may select it of which nothing is known at the moment.
    Undecided,
    /// Targets may have selected it, and none does.
    Left,
    /// No target was ever noted that could have selected it: what stands there is not ours to take away.
    Foreign,
}

/// Whether it is known what has become of a noted target. The ConfigMap that has it now counts, else the one that had
/// it last: a target keeps its name when it moves to another ConfigMap.
#[must_use]
pub fn is_decided(in_force: InForce<'_>, scope: &Scope, config_map: &str) -> bool {
    let present = in_force.targets.get(&scope.target).map(|target| target.document.config_map.as_str());
    in_force.whole.contains(present.unwrap_or(config_map))
}

/// Whether some noted target that may have had objects of that kind in that namespace is undecided.
#[must_use]
pub fn is_in_doubt(notes: &Notes, in_force: InForce<'_>, kind: &KindName, namespace: Option<&str>) -> bool {
    let mut covering = notes.iter().filter(|(scope, _)| scope.covers(kind, namespace));
    covering.any(|(scope, config_map)| !is_decided(in_force, scope, config_map))
}

/// Judges an object that was read with its labels (`metadata.labels` in its view).
#[must_use]
pub fn judge(notes: &Notes, in_force: InForce<'_>, kind: &KindName, object: &LeanObject) -> Judgement {
    let (namespace, labels) = (object.id.namespace.as_deref(), labels(object));
    let of_kind = in_force.targets.values().filter(|target| target.objects.is_of(&kind.group, &kind.kind));
    if of_kind.into_iter().any(|target| target.objects.selects(namespace, labels)) {
        Judgement::Selected
    } else if is_in_doubt(notes, in_force, kind, namespace) {
        Judgement::Undecided
    } else if notes.iter().any(|(scope, _)| scope.covers(kind, namespace)) {
        Judgement::Left
    } else {
        Judgement::Foreign
    }
}

fn labels(object: &LeanObject) -> Option<&Value> {
    object.view.pointer("/metadata/labels")
}

/// The noted scopes that their target, as far as is known, does not reach any more.
#[must_use]
pub fn left_scopes(notes: &Notes, in_force: InForce<'_>) -> BTreeSet<Scope> {
    let is_left = |scope: &Scope| in_force.targets.get(&scope.target).is_none_or(|now| !scope.is_within(&now.objects));
    let decided = notes.iter().filter(|(scope, config_map)| is_decided(in_force, scope, config_map));
    decided.filter(|(scope, _)| is_left(scope)).map(|(scope, _)| scope.clone()).collect()
}
