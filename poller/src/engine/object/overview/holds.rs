//! The holds of objects and targets, by the Leases of both programs.

use std::collections::BTreeMap;

use drift_api::attestation::Attestation;
use drift_api::held_corrections::{Held, HeldCorrections, HeldObject, Hold, TargetHolds};
use drift_api::object::LeanObject;
use drift_language::Target;
use jiff::Timestamp;

use super::next::Next;
use super::row::Rank;

/// The Leases as the page knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseHolds {
    /// The attested targets.
    pub attested: BTreeMap<String, Attestation>,
    /// The controller's list, `None` within if no controller holds its Lease; `None` if that is not known.
    pub controller: Option<Option<HeldCorrections>>,
}

/// The holds of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfTarget<'l> {
    attestation: Option<&'l Attestation>,
    /// The holds of all its corrections.
    pub whole: Vec<Hold>,
    /// The holds that the controller lists for it. Not each object is held by them.
    pub listed: Vec<Hold>,
    known: TargetHolds,
}

impl LeaseHolds {
    /// Returns the holds of a target.
    #[must_use]
    pub fn of_target(&self, target: &Target) -> OfTarget<'_> {
        let attestation = self.attested.get(&target.name);
        let mut whole = Vec::new();
        if attestation.is_none() && target.correct.mode.corrects() {
            whole.push(Hold::target_not_attested());
        }
        let known = match &self.controller {
            Some(Some(held)) => held.of_target(&target.name),
            Some(None) if target.correct.mode.corrects() && !target.suspend => {
                whole.push(Hold::no_controller());
                TargetHolds::default()
            }
            Some(None) | None => TargetHolds::default(),
        };
        let listed = known.whole.iter().map(|hold| hold.shown(&target.name)).collect();
        OfTarget { attestation, whole, listed, known }
    }
}

impl OfTarget<'_> {
    /// Returns the holds of an object, or of its deletion. Without drift only a dispute is one.
    pub(super) fn of_object(
        &self,
        target: &Target,
        object: &LeanObject,
        (rank, next): (Rank, Next),
        now: Timestamp,
    ) -> Vec<Hold> {
        let is_own = match rank {
            Rank::Drifted | Rank::Deleting => true,
            Rank::Unknown | Rank::InSync => {
                next.is_dispute() || matches!(next.held(), Some(Held::StoredIdChanged | Held::AttemptsExhausted))
            }
        };
        let own = next.held().filter(|_| is_own).map(|why| target.hold(object, why, None, now));
        let mut holds: Vec<Hold> = own.into_iter().collect();
        if rank == Rank::Drifted {
            if self.attestation.is_some_and(|attestation| attestation.except.has(&object.id)) {
                holds.push(Hold::object_not_attested());
            }
            holds.extend(self.whole.iter().cloned());
        }
        if next.awaits_controller(object) {
            holds.extend(target.correct.window_hold(object, now));
            if !self.known.is_empty() {
                holds.extend(self.known.applying(&target.name, HeldObject::from(object), now));
            }
        }
        holds
    }
}
