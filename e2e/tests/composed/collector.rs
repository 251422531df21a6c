//! Unselected objects lose our finalizer within seconds, and our conditions after ten minutes.
//!
//! It implements the rule of the design on the real state. The programs' own collectors have other tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::status_patch::removal_patch;
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::finalizer_patches::release_patch;
use drift_language::Target;
use serde_json::Value;

use crate::calls::Scene;
use crate::targets::owner_of;
use crate::watch::uid_of;

/// Time for which the conditions of an unselected object stay.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// Start of each object's unselected time.
#[derive(Default)]
pub(crate) struct Collector {
    left: BTreeMap<Uid, Moment>,
}

impl Collector {
    /// Cleans up unselected objects. `is_busy` returns true for an object with work in progress.
    pub(crate) fn collect(
        &mut self,
        targets: &BTreeMap<&'static str, Arc<Target>>,
        is_busy: impl Fn(&Uid) -> bool,
        scene: &mut Scene<'_>,
    ) {
        let now = scene.clock.moment;
        let is_left = |object: &Value| owner_of(object, targets.values().map(|target| &**target)).is_none();
        let objects = scene.api.objects.values();
        let left: Vec<Value> = objects.filter(|object| is_left(object) && !is_busy(&uid_of(object))).cloned().collect();
        let uids: BTreeSet<Uid> = left.iter().map(uid_of).collect();
        self.left.retain(|uid, _| uids.contains(uid));
        for object in left {
            let (uid, name) = (uid_of(&object), object["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            let since = *self.left.entry(uid.clone()).or_insert(now);
            let lean = LeanObject::prune(&object, &FieldPaths::default());
            if let Some(patch) = release_patch(&lean) {
                let _ = scene.api.patch(&name, &patch, false);
            } else if now.is_past(since, KEPT_FOR) && remove_conditions(&name, &lean, scene) {
                scene.outside.disown(&uid);
                scene.ledger.forget(&uid);
            }
        }
    }
}

/// Returns true if none of our conditions is left. A claim that cannot be removed stays.
fn remove_conditions(name: &str, object: &LeanObject, scene: &mut Scene<'_>) -> bool {
    let placed = object.conditions.observed.as_ref().or(object.conditions.corrected.as_deref());
    let Some(placed) = placed else { return true };
    let written = scene.api.patch(name, &removal_patch(object, placed), true);
    written.is_ok_and(|written| remove_conditions(name, &LeanObject::prune(&written, &FieldPaths::default()), scene))
}
