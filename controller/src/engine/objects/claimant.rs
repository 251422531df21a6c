//! An object as a claimant of external resources.

use drift_api::identity::Claimant;
use drift_api::object::LeanObject;

use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::memory::ObjectMemory;

/// What an object says of external resources. A claim that another writer took from it stands in our memory, and is put back.
#[must_use]
pub fn claimant_of(target: &TargetFacts, object: &LeanObject, facts: &ObjectFacts, memory: &ObjectMemory) -> Claimant {
    let owns = memory.status_of(object).owned().map(|owned| owned.resource(target.scope));
    let is_current = object.conditions.correction_status().owned().is_some();
    let noted = || if is_current { object.conditions.noted_at() } else { u32::MAX };
    Claimant {
        wants: facts.identity.clone().map(|identity| target.named(identity)),
        claimed: owns.as_ref().map_or(0, |_| noted()),
        owns,
        created: object.created,
        deleting: object.deleting,
    }
}
