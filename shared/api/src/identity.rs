//! The owners of external resources, over all targets of a program.
//!
//! An identity names one resource within a scope. Two objects may name the same one, also of two targets. The one that claimed it has
//! it; without a claim the oldest. The others leave it alone, and while there are others nobody deletes. An object that was out of
//! sight may bring an old claim along: one that came before it counts, and the old one is void. Where nobody saw which came first, as
//! at a start, the one whose note is younger counts: it was made while the other was out of sight.

mod contenders;
mod resources;
mod said;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

pub use crate::collections::shared_text::Uid;
use crate::collections::shared_text::{SharedText, literal};
use crate::short_hash::{parse_short_hash, short_hash};
use contenders::{Rank, Scope, claims};
use resources::Resources;
use said::{Said, resources};

/// A scope in short: within it an identity names one external resource. Shown as 8 hex digits, which are read out as easily as
/// a desired state is, and tell apart the hundreds of scopes that a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(u32);

impl ScopeId {
    /// The scope of that name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self(short_hash(name))
    }

    /// The scope of 8 lower-case hex digits; `None` for any other text.
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
    /// The identity in it.
    pub identity: SharedText,
}

/// The claims of an object on external resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// The resource that its spec names; `None` where it names none.
    pub wants: Option<ResourceName>,
    /// The resource that it claimed.
    pub owns: Option<ResourceName>,
    /// Its creationTimestamp, seconds since 1970; 0 where that is not known.
    pub created: u32,
    /// The time at which the status of the note with its claim changed last, seconds since 1970; the greatest where that is not written yet, and
    /// 0 where it claims nothing.
    pub claimed: u32,
    /// True if it is being deleted.
    pub deleting: bool,
}

/// An object of a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selected {
    /// The target's name.
    pub target: SharedText,
    /// The object.
    pub uid: Uid,
}

/// Stands for whoever corrects an object where a target's name does. The name of no target begins like this, and it comes after all of
/// them, so that what a target says of the object counts before it.
static CORRECTING: SharedText = literal!("~");

impl Selected {
    /// The object for as long as it is corrected, whatever targets see of it.
    #[must_use]
    pub fn correcting(uid: &Uid) -> Self {
        Self { target: CORRECTING.clone(), uid: uid.clone() }
    }
}

/// The rights of an object against others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// It has the resource it wants.
    pub has: bool,
    /// Another object that is not being deleted wants or claims that resource, so that a deletion leaves it.
    pub shared: bool,
    /// Another object has what it claims: that one's claim was seen first or, where nobody saw which came first, its note is younger.
    pub claim_void: bool,
}

/// The external resources of all targets' objects.
///
/// However many objects name one resource (a mistake in a target makes it all of them), one that comes, changes or
/// goes costs no more than finding it, and concerns two others. Where two targets see one object, that of the first by
/// name counts: the object is that one's.
#[derive(Clone, Debug, Default)]
pub struct IdentityIndex {
    objects: HashMap<Uid, Said>,
    resources: Resources,
    /// Claims that are void because another object's claim counts.
    late: HashSet<(Uid, ResourceName)>,
}

impl IdentityIndex {
    /// Takes an object in as a target sees it now, when everybody is known who may have claimed something there; gives the
    /// other objects whose right to act may have changed.
    pub fn insert(&mut self, selected: &Selected, claimant: Claimant) -> Vec<Selected> {
        self.change(selected, Some(claimant), Scope::Complete)
    }

    /// The same while not everybody is known: of two claims that with the younger note counts, and neither is void until everybody is.
    pub fn insert_while_incomplete(&mut self, selected: &Selected, claimant: Claimant) -> Vec<Selected> {
        self.change(selected, Some(claimant), Scope::Incomplete)
    }

    /// Everybody is known from now on where `is_complete` says so: of several claims one counts, and the others are void. Gives the
    /// objects whose claim is.
    pub fn note_complete(&mut self, is_complete: impl Fn(ScopeId) -> bool) -> Vec<Selected> {
        let void = self.resources.claiming_in_vain().filter(|(_, resource)| is_complete(resource.scope));
        let void: Vec<_> = void.map(|(uid, resource)| (uid.clone(), resource.clone())).collect();
        let concerned: BTreeSet<_> = void.iter().map(|(uid, _)| uid.clone()).collect();
        self.late.extend(void);
        self.selected(concerned)
    }

    /// Drops an object that a target sees no more; gives the others whose right to act may have changed.
    pub fn remove(&mut self, selected: &Selected) -> Vec<Selected> {
        self.change(selected, None, Scope::Complete)
    }

    /// Drops what the target sees, apart from `kept`; gives the others whose right to act may have changed.
    pub fn keep_only(&mut self, target: &SharedText, kept: &HashSet<Uid>) -> Vec<Selected> {
        let sees = |said: &Said| said.targets().any(|one| one == target);
        let gone = self.objects.iter().filter(|(uid, said)| sees(said) && !kept.contains(*uid));
        // In a fixed order: of two claims, which one counts may depend on it.
        let gone: BTreeSet<_> = gone.map(|(uid, _)| Selected { target: target.clone(), uid: uid.clone() }).collect();
        let mut concerned: Vec<_> = gone.iter().flat_map(|selected| self.remove(selected)).collect();
        // One that was told first may have gone after that.
        concerned.retain(|other| self.objects.contains_key(&other.uid));
        concerned
    }

    /// The targets that see anything.
    #[must_use]
    pub fn targets(&self) -> BTreeSet<SharedText> {
        let names = self.objects.values().flat_map(Said::targets);
        // One by one: a set is collected by way of a list of all.
        let mut targets = BTreeSet::new();
        targets.extend(names.filter(|target| **target != CORRECTING).cloned());
        targets
    }

    /// What `claimant`, as the object of that uid, may do. It has what it wants if nobody else claimed that before; without
    /// any claim, if nobody older wants it.
    #[must_use]
    pub fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        let is_late = |owned: &ResourceName| self.late.contains(&(uid.clone(), owned.clone()));
        let claim_void = !self.late.is_empty() && claimant.owns.as_ref().is_some_and(is_late);
        let Some(resource) = &claimant.wants else { return Rights { claim_void, ..Rights::default() } };
        let contenders = self.resources.contenders(resource);
        let living = contenders.map_or(0, |contenders| contenders.living);
        let own = self.objects.get(uid).map(Said::claimant);
        let own = own.is_some_and(|own| !own.deleting && resources(&own).any(|named| named == resource));
        let rank = Rank::of(uid, claimant, resource);
        let has = contenders.is_none_or(|contenders| contenders.may_have(&rank));
        Rights { has, shared: living > usize::from(own), claim_void }
    }

    /// The object that has a resource.
    #[must_use]
    pub fn holder(&self, resource: &ResourceName) -> Option<Uid> {
        self.resources.contenders(resource)?.first()
    }

    fn change(
        &mut self,
        Selected { target, uid }: &Selected,
        claimant: Option<Claimant>,
        scope: Scope,
    ) -> Vec<Selected> {
        let said = self.objects.get(uid);
        // What is equal shares the memory of its names with others that keep them.
        if said.and_then(|said| said.by(target)) == claimant.as_ref() {
            return Vec::new();
        }
        let old = said.map(Said::claimant);
        let said = Said::changed(said, target, claimant);
        let new = said.as_ref().map(Said::claimant);
        match said {
            Some(said) => _ = self.objects.insert(uid.clone(), said),
            None => _ = self.objects.remove(uid),
        }
        let named: BTreeSet<_> = old.iter().chain(&new).flat_map(resources).collect();
        let mut concerned = BTreeSet::new();
        for resource in named {
            concerned.extend(self.exchange(uid, resource, old.as_ref(), new.as_ref(), scope));
        }
        concerned.remove(uid);
        self.selected(concerned)
    }

    /// The objects, each as the one of the target that counts for it.
    fn selected(&self, uids: BTreeSet<Uid>) -> Vec<Selected> {
        let of_target = |uid: Uid| {
            let target = self.objects.get(&uid)?.targets().next()?.clone();
            Some(Selected { target, uid })
        };
        uids.into_iter().filter_map(of_target).collect()
    }

    /// Puts an object among the contenders for a resource that it names now, in place of what it was there.
    fn exchange(
        &mut self,
        uid: &Uid,
        resource: &ResourceName,
        old: Option<&Claimant>,
        new: Option<&Claimant>,
        scope: Scope,
    ) -> Vec<Uid> {
        let names = |claimant: &&Claimant| resources(claimant).any(|named| named == resource);
        let (old, new) = (old.filter(names), new.filter(names));
        let rank = |claimant: &Claimant| Rank::of(uid, claimant, resource);
        let (left, came) = (old.map(rank), new.map(rank));
        let mut contenders = self.resources.take(resource);
        let (first, living) = (contenders.first(), contenders.living);
        let comes_late = scope == Scope::Complete
            && claims(came.as_ref())
            && !claims(left.as_ref())
            && claims(contenders.first.as_ref().filter(|first| first.uid != *uid));
        if comes_late {
            self.late.insert((uid.clone(), resource.clone()));
        } else if !claims(came.as_ref()) && !self.late.is_empty() {
            self.late.remove(&(uid.clone(), resource.clone()));
        }
        contenders.exchange(left.as_ref(), came, scope);
        if let Some(first) = contenders.first().filter(|_| !self.late.is_empty()) {
            self.late.remove(&(first, resource.clone()));
        }
        let is_living = |claimant: Option<&Claimant>| usize::from(claimant.is_some_and(|claimant| !claimant.deleting));
        contenders.living = contenders.living + is_living(new) - is_living(old);
        let concerned = contenders.concerned(first, living);
        self.resources.put(resource.clone(), contenders);
        concerned
    }
}

#[cfg(test)]
mod tests;
