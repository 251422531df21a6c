//! The approvals of a person, and the corrections that each of them allows.

use std::collections::HashMap;

use drift_api::identity::Uid;
use drift_api::names::APPROVED_ANNOTATION;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::Correction;
use serde_json::{Value, json};

use crate::watch::uid_of;
use crate::world::World;

/// The approvals by object and hash.
#[derive(Default)]
pub(crate) struct Approvals(HashMap<(Uid, String), Approved>);

/// The correction that a person saw.
struct Approved {
    spec: Value,
    is_deleting: bool,
    /// The number of the correction before.
    after: u64,
}

impl Approvals {
    /// Checks that a person approved this correction of the object, in its state at the decision. `has_note` is false if
    /// another writer may have changed its number. An error describes the violation.
    pub(crate) fn check(&self, object: &LeanObject, correction: &Correction, has_note: bool) -> Result<(), String> {
        let uid = &object.id.uid;
        let given = object.approved().and_then(|hash| self.0.get(&(uid.clone(), hash.to_owned())));
        let Some(approved) = given else { return Err(format!("a correction without an approval: of {uid}")) };
        let (view, seen) = (object.view.open(), &approved.spec);
        let is_edited = ["resource", "value"].iter().any(|field| view["spec"][field] != seen[field]);
        if is_edited || object.deleting != approved.is_deleting {
            return Err(format!("a correction of another state than the approved one: of {uid}"));
        }
        let may_be = [approved.after, approved.after + 1];
        if has_note && correction.action != Action::Delete && !may_be.contains(&correction.asked_as()) {
            return Err(format!("an approval counts for another correction: {} of {uid}", correction.asked_as()));
        }
        Ok(())
    }
}

/// Approves the correction that the object awaits, as a person does.
pub(crate) fn approve(world: &mut World, name: &str) {
    let World { api, ledger, .. } = world;
    let Some(object) = api.objects.get(name) else { return };
    let lean = LeanObject::prune(object, &FieldPaths::default());
    let Some(hash) = lean.awaits_approval() else { return };
    let approved = Approved {
        spec: object["spec"].clone(),
        is_deleting: lean.deleting,
        after: lean.conditions.correction_status().correction,
    };
    ledger.approvals.0.insert((uid_of(object), hash.clone()), approved);
    api.edit(name, |object| object["metadata"]["annotations"][APPROVED_ANNOTATION] = json!(hash));
}
