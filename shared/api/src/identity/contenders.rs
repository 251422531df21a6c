//! The objects that participate in one external resource.

use super::{Claimant, ResourceName, Uid};

/// The objects that participate in one resource, nearly always one.
#[derive(Clone, Debug, Default)]
pub(super) struct Contenders {
    /// The objects that claim it, sorted.
    pub(super) claims: Vec<Uid>,
    /// The objects without a claim that may claim it, the oldest first.
    pub(super) candidates: Vec<(u32, Uid)>,
    /// Number of participants that are not being deleted.
    pub(super) living: usize,
    /// Number of participants.
    pub(super) count: usize,
}

/// The part that decides who acts. Two claims are enough to see a contest.
pub(super) type Decisive = (Vec<Uid>, Option<Uid>, bool);

impl Contenders {
    pub(super) fn insert(&mut self, uid: &Uid, claimant: &Claimant, resource: &ResourceName) {
        if claimant.owns.as_ref() == Some(resource) {
            insert_sorted(&mut self.claims, uid.clone());
        } else if claimant.may_claim && claimant.owns.is_none() {
            insert_sorted(&mut self.candidates, (claimant.created, uid.clone()));
        }
        self.living += usize::from(!claimant.deleting);
        self.count += 1;
    }

    pub(super) fn remove(&mut self, uid: &Uid, claimant: &Claimant, resource: &ResourceName) {
        if claimant.owns.as_ref() == Some(resource) {
            remove_sorted(&mut self.claims, uid);
        } else if claimant.may_claim && claimant.owns.is_none() {
            remove_sorted(&mut self.candidates, &(claimant.created, uid.clone()));
        }
        self.living -= usize::from(!claimant.deleting);
        self.count -= 1;
    }

    pub(super) fn decisive(&self) -> Decisive {
        let claims = self.claims.iter().take(2).cloned().collect();
        (claims, self.candidates.first().map(|(_, uid)| uid.clone()), self.living > 1)
    }
}

/// Removes an entry, if present.
fn remove_sorted<T: Ord>(all: &mut Vec<T>, entry: &T) {
    if let Ok(place) = all.binary_search(entry) {
        all.remove(place);
    }
}

/// Inserts an entry in order, if not present.
fn insert_sorted<T: Ord>(all: &mut Vec<T>, entry: T) {
    if let Err(place) = all.binary_search(&entry) {
        all.insert(place, entry);
    }
}
