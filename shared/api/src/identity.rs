//! The ownership of external resources by objects, over all targets of the controller.
//!
//! An identity names one resource within a scope. Two objects may name the same one, also of two targets. Without a
//! claim, the oldest object that may claim it does. One claim makes its object the owner. With two or more claims,
//! no object acts.

mod contenders;
mod holders;
mod object_ref;
mod said;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};

pub use crate::collections::shared_text::Uid;
use crate::collections::shared_text::{SharedText, literal};
use crate::short_hash::{parse_short_hash, short_hash};
use contenders::{Contenders, Decisive};
pub use holders::{Holders, NAMED_HOLDERS};
pub use object_ref::ObjectRef;
use said::Said;

/// The short id of a scope, within which an identity names one external resource. Shown as 8 hex digits, which are as
/// easy to read out as a desired state's, and distinguish the hundreds of scopes of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(u32);

impl ScopeId {
    /// Returns the id of a scope name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self(short_hash(name))
    }

    /// Parses 8 lower-case hex digits. `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        parse_short_hash(text).map(Self)
    }
}

impl fmt::Display for ScopeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

/// The name of one external resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceName {
    /// The scope of the identity.
    pub scope: ScopeId,
    /// The identity within the scope.
    pub identity: SharedText,
}

/// The claims and intentions of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// The object, as others refer to it.
    pub object: ObjectRef,
    /// The resource that it names. `None` if it names none, or does not participate.
    pub wants: Option<ResourceName>,
    /// The resource of its claim, if the claim counts: the object names the same, or its name is unknown.
    pub owns: Option<ResourceName>,
    /// True if it may create or adopt the resource that it names, as far as its own state allows.
    pub may_claim: bool,
    /// Its creationTimestamp, seconds since 1970. 0 if unknown.
    pub created: u32,
    /// True if it is being deleted.
    pub deleting: bool,
    /// True if its claim is known. If its conditions are kept in a report, a former text of its target may have left a
    /// claim on the object, which only a live read shows.
    pub claim_is_known: bool,
}

impl Claimant {
    /// Returns the resource in whose ownership it participates.
    fn resource(&self) -> Option<&ResourceName> {
        self.owns.as_ref().or(self.wants.as_ref())
    }

    /// Returns true if it participates in the resource: in its ownership, or because it names the resource since its
    /// running correction of another one began.
    fn takes_part_in(&self, resource: &ResourceName) -> bool {
        self.owns.as_ref() == Some(resource) || self.wants.as_ref() == Some(resource)
    }
}

/// An object of a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selected {
    /// The target's name.
    pub target: SharedText,
    /// The object's uid.
    pub uid: Uid,
}

/// Reserved owner name for a running correction. No target's name begins like this, and it sorts after all of them, so
/// that a target's report about the object counts first.
static CORRECTING: SharedText = literal!("~");

impl Selected {
    /// Returns the object for the time of a correction, independent of targets.
    #[must_use]
    pub fn correcting(uid: &Uid) -> Self {
        Self { target: CORRECTING.clone(), uid: uid.clone() }
    }
}

/// An object's right to the resource that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ownership {
    /// It names none, or does not participate.
    #[default]
    None,
    /// There is no claim, and no older object may claim it.
    Free,
    /// It has the only claim.
    Held,
    /// Another object claims it or, without a claim, is older.
    Taken(Holders),
    /// Both this object and these claim it.
    Contested(Holders),
}

/// The permissions of an object with regard to others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Its right to the resource that it names.
    pub ownership: Ownership,
    /// True if another object that is not being deleted names that resource, so that a deletion leaves it.
    pub shared: bool,
}

/// The external resources of all targets' objects.
///
/// However many objects name one resource (a mistake in a target makes it all of them), an added, changed or removed
/// object costs no more than its look-up, and affects few others. If two targets select one object, the first by name
/// counts and owns the object.
#[derive(Clone, Debug, Default)]
pub struct IdentityIndex {
    objects: HashMap<Uid, Said>,
    resources: HashMap<ResourceName, Contenders>,
    /// The number of objects of each name, by the hash of the name, which takes less memory.
    seen: HashMap<u64, u32>,
    hasher: RandomState,
}

impl IdentityIndex {
    /// Adds or updates an object in a target's view. Returns the other objects whose right to act may have changed.
    pub fn insert(&mut self, selected: &Selected, claimant: Claimant) -> Vec<Selected> {
        self.change(selected, Some(claimant))
    }

    /// Removes an object from a target's view. Returns the others whose right to act may have changed.
    pub fn remove(&mut self, selected: &Selected) -> Vec<Selected> {
        self.change(selected, None)
    }

    /// Removes everything from a target's view except `kept`. Returns the others whose right to act may have changed.
    pub fn keep_only(&mut self, target: &SharedText, kept: &HashSet<Uid>) -> Vec<Selected> {
        let sees = |said: &Said| said.targets().any(|one| one == target);
        let gone = self.objects.iter().filter(|(uid, said)| sees(said) && !kept.contains(*uid));
        let gone: BTreeSet<_> = gone.map(|(uid, _)| Selected { target: target.clone(), uid: uid.clone() }).collect();
        let mut concerned: Vec<_> = gone.iter().flat_map(|selected| self.remove(selected)).collect();
        // An object that was returned first may have been removed after that.
        concerned.retain(|other| self.objects.contains_key(&other.uid));
        concerned
    }

    /// Returns the targets with at least one object.
    #[must_use]
    pub fn targets(&self) -> BTreeSet<SharedText> {
        let names = self.objects.values().flat_map(Said::targets);
        names.filter(|target| **target != CORRECTING).cloned().collect()
    }

    /// Returns the rights of `claimant`, as the object with that uid.
    #[must_use]
    pub fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        let Some(resource) = claimant.resource() else { return Rights::default() };
        let nobody = Contenders::default();
        let contenders = self.resources.get(resource).unwrap_or(&nobody);
        let own = self.objects.get(uid).map(Said::claimant);
        let own = own.is_some_and(|own| !own.deleting && own.takes_part_in(resource));
        let shared = contenders.living > usize::from(own);
        let others = || contenders.claims.iter().filter(|other| *other != uid);
        let ownership = match (claimant.owns.is_some(), others().next().is_some()) {
            (true, false) => Ownership::Held,
            (true, true) => Ownership::Contested(self.holders(others())),
            (false, true) => Ownership::Taken(self.holders(others())),
            (false, false) => match contenders.candidates.first() {
                Some((_, first)) if first != uid => Ownership::Taken(self.holders(std::iter::once(first))),
                _ => Ownership::Free,
            },
        };
        Rights { ownership, shared }
    }

    /// Returns true if a target selects the object, so that its claim is known.
    #[must_use]
    pub fn sees(&self, object: &ObjectRef) -> bool {
        self.seen.contains_key(&self.hasher.hash_one(object))
    }

    fn holders<'a>(&self, mut uids: impl Iterator<Item = &'a Uid>) -> Holders {
        let object = |uid| Some(self.objects.get(uid)?.object().clone());
        let named = uids.by_ref().take(NAMED_HOLDERS).filter_map(object).collect();
        Holders { named, has_more: uids.next().is_some() }
    }

    /// Counts the objects of one name. A recreated object may appear before the former one is gone.
    fn count_seen(&mut self, left: Option<&Said>, came: Option<&Said>) {
        let hash = |said: &Said| said.knows_claim().then(|| self.hasher.hash_one(said.object()));
        let (left, came) = (left.and_then(hash), came.and_then(hash));
        if left == came {
            return;
        }
        if let Some(came) = came {
            *self.seen.entry(came).or_default() += 1;
        }
        if let Some(left) = left
            && let Some(count) = self.seen.get_mut(&left)
        {
            *count -= 1;
            if *count == 0 {
                self.seen.remove(&left);
            }
        }
    }

    fn change(&mut self, Selected { target, uid }: &Selected, claimant: Option<Claimant>) -> Vec<Selected> {
        let said = self.objects.get(uid);
        // An equal report is kept, because its names share memory with other users.
        if said.and_then(|said| said.by(target)) == claimant.as_ref() {
            return Vec::new();
        }
        let (left, old) = (said.cloned(), said.map(Said::claimant));
        let said = Said::changed(said, target, claimant);
        let new = said.as_ref().map(Said::claimant);
        self.count_seen(left.as_ref(), said.as_ref());
        match said {
            Some(said) => _ = self.objects.insert(uid.clone(), said),
            None => _ = self.objects.remove(uid),
        }
        let named: BTreeSet<_> = old.iter().chain(&new).flat_map(|one| one.owns.iter().chain(&one.wants)).collect();
        let mut concerned = BTreeSet::new();
        for resource in named {
            concerned.extend(self.exchange(uid, resource, old.as_ref(), new.as_ref()));
        }
        concerned.remove(uid);
        self.selected(concerned)
    }

    /// Returns the objects, each with its owning target.
    fn selected(&self, uids: BTreeSet<Uid>) -> Vec<Selected> {
        let of_target = |uid: Uid| {
            let target = self.objects.get(&uid)?.targets().next()?.clone();
            Some(Selected { target, uid })
        };
        uids.into_iter().filter_map(of_target).collect()
    }

    /// Replaces an object's entry among the contenders for a resource. Returns those whose right may have changed.
    fn exchange(
        &mut self,
        uid: &Uid,
        resource: &ResourceName,
        old: Option<&Claimant>,
        new: Option<&Claimant>,
    ) -> Vec<Uid> {
        let takes_part = |claimant: &&Claimant| claimant.takes_part_in(resource);
        let mut contenders = self.resources.remove(resource).unwrap_or_default();
        let before = contenders.decisive();
        if let Some(old) = old.filter(takes_part) {
            contenders.remove(uid, old, resource);
        }
        if let Some(new) = new.filter(takes_part) {
            contenders.insert(uid, new, resource);
        }
        let after = contenders.decisive();
        if contenders.count > 0 {
            self.resources.insert(resource.clone(), contenders);
        }
        if before == after {
            return Vec::new();
        }
        let concerned = |(claims, candidate, _): Decisive| claims.into_iter().chain(candidate);
        concerned(before).chain(concerned(after)).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
