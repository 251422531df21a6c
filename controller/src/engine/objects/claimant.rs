//! An object as a claimant of external resources.

use drift_api::identity::Claimant;
use drift_api::identity::ObjectRef;
use drift_api::object::LeanObject;

use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::memory::ObjectMemory;

/// Returns the part that an object takes in the ownership of external resources. A claim that another writer took from
/// it stands in our memory, and is put back.
///
/// A claim counts while its object names that resource, or cannot tell what it names. Without a claim an object takes
/// part where the target's requirements hold. One that is being deleted takes part while our finalizer is on it.
#[must_use]
pub fn claimant_of(target: &TargetFacts, object: &LeanObject, facts: &ObjectFacts, memory: &ObjectMemory) -> Claimant {
    let status = memory.status_of(object);
    let owned = status.owned().map(|owned| owned.resource(target.scope));
    let named = facts.identity.clone().map(|identity| target.named(identity));
    let takes_part = !target.actions.nudge && (!object.deleting || object.has_finalizer());
    let counts = |identity: &str| takes_part && !object.gives_up(identity);
    let is_allowed = owned.is_some() || facts.allowed == Some(true);
    let wants = named.clone().filter(|named| is_allowed && counts(&named.identity));
    let owns =
        owned.clone().filter(|owned| counts(&owned.identity) && named.as_ref().is_none_or(|named| named == owned));
    let (kind, id) = (target.kind.clone(), &object.id);
    Claimant {
        object: ObjectRef { kind, namespace: id.namespace.clone(), name: id.name.clone() },
        may_claim: wants.is_some() && owned.is_none() && target.claims() && !object.deleting,
        wants,
        owns,
        created: object.created,
        deleting: object.deleting,
    }
}
