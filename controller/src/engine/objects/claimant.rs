//! An object as a claimant of external resources.

use drift_api::condition::CorrectionStatus;
use drift_api::identity::{Claimant, ObjectRef, ResourceName};
use drift_api::object::LeanObject;

use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::memory::ObjectMemory;

/// Returns the object's part in the ownership of external resources. If another writer removed its claim, the
/// remembered claim counts, because it will be restored.
///
/// A claim counts while its object names that resource, or while the name is unknown. Without a claim, an object takes
/// part unless the target's requirements exclude it. An object that is being deleted takes part while it has our
/// finalizer. A record that this version cannot parse may claim the resource that its object names.
#[must_use]
pub fn claimant_of(target: &TargetFacts, object: &LeanObject, facts: &ObjectFacts, memory: &ObjectMemory) -> Claimant {
    let status = memory.status_of(object);
    let owned = status.owned().and_then(|owned| Some(owned.resource(owned.scope.or(facts.scope)?)));
    let named = facts.named();
    let takes_part = !target.actions.nudge && (!object.deleting || object.has_finalizer());
    let counts = |identity: &str| takes_part && !object.gives_up(identity);
    let claimed = if is_unreadable(object, &status) { named.clone() } else { owned.clone() };
    let is_named = |owned: &ResourceName| named.as_ref().is_none_or(|named| named == owned);
    let owns = claimed.filter(|owned| counts(&owned.identity) && is_named(owned));
    let is_refused = owns.is_none() && facts.allowed == Some(false);
    let wants = named.clone().filter(|named| !is_refused && counts(&named.identity));
    let may_claim = owned.is_none() && facts.allowed == Some(true) && target.claims() && !object.deleting;
    let (kind, id) = (target.kind.clone(), &object.id);
    Claimant {
        object: ObjectRef { kind, namespace: id.namespace.clone(), name: id.name.clone() },
        may_claim: may_claim && wants.is_some() && owns.is_none(),
        wants,
        owns,
        created: object.created,
        deleting: object.deleting,
        claim_is_known: object.report.is_none(),
    }
}

/// Returns true if the object has a record that this version cannot parse, and our memory knows no claim.
fn is_unreadable(object: &LeanObject, status: &CorrectionStatus) -> bool {
    let stands = object.conditions.corrected();
    stands.is_some_and(|condition| CorrectionStatus::read(condition).is_none()) && status.claim.is_none()
}
