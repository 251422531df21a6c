//! The owner of an object: the first target by name that selects it.
//!
//! Provable overlap is rejected when the documents load. Other overlap only shows in the objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::client::KindName;
use drift_language::ObjectSelection;
use serde_json::Value;

/// Returns the target that owns an object of a kind (group and name), by its namespace and labels.
#[must_use]
pub fn owner_of<'a>(
    targets: &'a BTreeMap<Arc<str>, ObjectSelection>,
    kind: &KindName,
    namespace: Option<&str>,
    labels: Option<&Value>,
) -> Option<&'a Arc<str>> {
    let is_owner = |selection: &ObjectSelection| kind.is_of(selection) && selection.selects(namespace, labels);
    targets.iter().find(|(_, selection)| is_owner(selection)).map(|(target, _)| target)
}
