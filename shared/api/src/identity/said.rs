//! The claimants that targets report for one object.

use super::{CORRECTING, Claimant, ObjectRef};
use crate::collections::shared_text::SharedText;

/// The reports of targets about one object, sorted by target name. Never empty.
#[derive(Clone, Debug)]
pub(super) struct Said(Box<[(SharedText, Claimant)]>);

impl Said {
    /// Returns the effective claimant: that of the first target, with the claim of a running correction if the target
    /// does not see it yet.
    pub(super) fn claimant(&self) -> Claimant {
        let Self(all) = self;
        let held = all.last().filter(|(target, held)| *target == CORRECTING && held.owns.is_some());
        let (_, first) = &all[0];
        match held.filter(|_| first.owns.is_none()) {
            Some((_, Claimant { owns, .. })) => Claimant { owns: owns.clone(), ..first.clone() },
            None => first.clone(),
        }
    }

    /// Returns the object, as others refer to it.
    pub(super) const fn object(&self) -> &ObjectRef {
        let (_, first) = &self.0[0];
        &first.object
    }

    /// Returns true if the claim of the object is known.
    pub(super) const fn knows_claim(&self) -> bool {
        let (_, first) = &self.0[0];
        first.claim_is_known
    }

    /// The targets that report the object, sorted by name.
    pub(super) fn targets(&self) -> impl Iterator<Item = &SharedText> {
        self.0.iter().map(|(target, _)| target)
    }

    /// Returns the claimant that a target reports.
    pub(super) fn by(&self, target: &str) -> Option<&Claimant> {
        self.0.iter().find(|(one, _)| **one == *target).map(|(_, claimant)| claimant)
    }

    /// Returns the reports after a target reports `claimant`, or removes its report. `None` if none is left.
    pub(super) fn changed(said: Option<&Self>, target: &SharedText, claimant: Option<Claimant>) -> Option<Self> {
        let mut all = said.map_or_else(Vec::new, |said| said.0.to_vec());
        match (all.binary_search_by(|(other, _)| other.cmp(target)), claimant) {
            (Ok(place), Some(claimant)) => all[place].1 = claimant,
            (Err(place), Some(claimant)) => all.insert(place, (target.clone(), claimant)),
            (Ok(place), None) => _ = all.remove(place),
            (Err(_), None) => {}
        }
        (!all.is_empty()).then(|| Self(all.into()))
    }
}
