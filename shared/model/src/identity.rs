//! Which object of a target has which external resource.
//!
//! Two objects may name the same identity. The one that claimed it has it; without a claim the oldest. The others
//! keep their hands off, and while there are others nobody deletes. This file must not know what is done to it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// An object's uid.
pub type Uid = Arc<str>;

/// What an object says of identities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// The identity that its spec names; `None` where it names none.
    pub wants: Option<String>,
    /// The identity that it claimed.
    pub owns: Option<String>,
    /// Its creationTimestamp.
    pub created: String,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// The identities of one target's objects.
///
/// However many objects name one identity (a mistake in a target makes it all of them), one that comes, changes or
/// goes costs no more than finding it, and concerns two others.
#[derive(Clone, Debug, Default)]
pub struct IdentityIndex {
    claimants: HashMap<Uid, Claimant>,
    by_identity: BTreeMap<String, Contenders>,
}

/// Who names one identity.
#[derive(Clone, Debug, Default)]
struct Contenders {
    ranked: BTreeSet<Rank>,
    /// How many of them are not being deleted.
    living: usize,
}

/// The least has the identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    without_claim: bool,
    created: String,
    uid: Uid,
}

impl Rank {
    fn of(uid: &Uid, claimant: &Claimant, identity: &str) -> Self {
        let without_claim = claimant.owns.as_deref() != Some(identity);
        Self { without_claim, created: claimant.created.clone(), uid: uid.clone() }
    }
}

impl Contenders {
    /// Whom a change from `before` concerns: whoever gains or loses the identity, and all when it is shared now or not
    /// any more.
    fn concerned(&self, before: (Option<Uid>, usize)) -> Vec<Uid> {
        let (first, living) = before;
        if living != self.living && living.min(self.living) <= 1 {
            return self.ranked.iter().map(|rank| rank.uid.clone()).chain(first).collect();
        }
        let now = self.first();
        if now == first { Vec::new() } else { now.into_iter().chain(first).collect() }
    }

    fn first(&self) -> Option<Uid> {
        self.ranked.first().map(|rank| rank.uid.clone())
    }
}

impl IdentityIndex {
    /// Takes an object in as it is now; gives the other objects whose right to act may have changed.
    pub fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid> {
        if self.claimants.get(uid) == Some(&claimant) {
            return Vec::new();
        }
        let mut concerned = Vec::new();
        let old = self.claimants.insert(uid.clone(), claimant.clone());
        let named: BTreeSet<&str> = old.iter().flat_map(identities).chain(identities(&claimant)).collect();
        for identity in named {
            concerned.extend(self.exchange(uid, identity, old.as_ref(), Some(&claimant)));
        }
        concerned.sort_unstable();
        concerned.dedup();
        concerned.retain(|other| other != uid);
        concerned
    }

    /// Drops an object; gives the others whose right to act may have changed.
    pub fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        let old = self.claimants.remove(uid);
        let mut concerned = Vec::new();
        for identity in old.iter().flat_map(identities) {
            concerned.extend(self.exchange(uid, identity, old.as_ref(), None));
        }
        concerned.retain(|other| other != uid);
        concerned
    }

    /// Whether `claimant`, as the object of this uid, has the identity it wants: nobody else claimed it, or nobody
    /// older did; without any claim, nobody older wants it.
    #[must_use]
    pub fn has(&self, uid: &Uid, claimant: &Claimant) -> bool {
        let Some(identity) = &claimant.wants else { return false };
        let others = self.by_identity.get(identity).into_iter().flat_map(|contenders| &contenders.ranked);
        let first_other = others.into_iter().find(|rank| rank.uid != *uid);
        first_other.is_none_or(|other| Rank::of(uid, claimant, identity) < *other)
    }

    /// Whether another object that is not being deleted wants or claims the identity, so that a deletion leaves the outside.
    #[must_use]
    pub fn is_shared(&self, uid: &Uid, identity: &str) -> bool {
        let living = self.by_identity.get(identity).map_or(0, |contenders| contenders.living);
        let own = self.claimants.get(uid).filter(|claimant| identities(claimant).any(|named| named == identity));
        living > usize::from(own.is_some_and(|claimant| !claimant.deleting))
    }

    /// Puts an object among the contenders for `identity` as it is now, in place of what it was.
    fn exchange(&mut self, uid: &Uid, identity: &str, old: Option<&Claimant>, new: Option<&Claimant>) -> Vec<Uid> {
        let names = |claimant: &&Claimant| identities(claimant).any(|named| named == identity);
        let contenders = self.by_identity.entry(identity.to_owned()).or_default();
        let before = (contenders.first(), contenders.living);
        if let Some(old) = old.filter(names) {
            contenders.ranked.remove(&Rank::of(uid, old, identity));
            contenders.living -= usize::from(!old.deleting);
        }
        if let Some(new) = new.filter(names) {
            contenders.ranked.insert(Rank::of(uid, new, identity));
            contenders.living += usize::from(!new.deleting);
        }
        let concerned = contenders.concerned(before);
        if contenders.ranked.is_empty() {
            self.by_identity.remove(identity);
        }
        concerned
    }
}

fn identities(claimant: &Claimant) -> impl Iterator<Item = &str> {
    let owned = claimant.owns.as_deref().filter(|owned| Some(*owned) != claimant.wants.as_deref());
    claimant.wants.as_deref().into_iter().chain(owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn claimant(wants: &str, owns: Option<&str>, created: &str) -> Claimant {
        Claimant {
            wants: Some(wants.to_owned()),
            owns: owns.map(str::to_owned),
            created: created.to_owned(),
            deleting: false,
        }
    }

    fn index(claimants: &[(&str, &Claimant)]) -> IdentityIndex {
        let mut index = IdentityIndex::default();
        for (uid, claimant) in claimants {
            index.insert(&Uid::from(*uid), (*claimant).clone());
        }
        index
    }

    #[test]
    fn the_claimant_has_it_else_the_oldest_and_the_uid_breaks_ties() {
        let old = claimant("db", None, "2026-01-01T00:00:00Z");
        let young = claimant("db", None, "2026-01-02T00:00:00Z");
        let claimant = claimant("db", Some("db"), "2026-01-03T00:00:00Z");
        let (a, b, c) = (Uid::from("a"), Uid::from("b"), Uid::from("c"));
        let without_claim = index(&[("a", &young), ("b", &old)]);
        assert!(without_claim.has(&b, &old) && !without_claim.has(&a, &young));
        let twins = index(&[("b", &old), ("a", &old)]);
        assert!(twins.has(&a, &old) && !twins.has(&b, &old));
        let with_claim = index(&[("a", &young), ("b", &old), ("c", &claimant)]);
        assert!(with_claim.has(&c, &claimant) && !with_claim.has(&b, &old) && !with_claim.has(&a, &young));
    }

    #[test]
    fn a_claim_holds_while_the_claimant_wants_something_else() {
        let moved = claimant("new", Some("db"), "2026-01-03T00:00:00Z");
        let other = claimant("db", None, "2026-01-01T00:00:00Z");
        let index = index(&[("a", &moved), ("b", &other)]);
        assert!(!index.has(&Uid::from("b"), &other));
        assert!(index.has(&Uid::from("a"), &moved));
    }

    #[test]
    fn an_identity_is_shared_while_another_living_object_names_it() {
        let one = claimant("db", Some("db"), "2026-01-01T00:00:00Z");
        let mut other = claimant("db", None, "2026-01-02T00:00:00Z");
        let a = Uid::from("a");
        assert!(index(&[("a", &one), ("b", &other)]).is_shared(&a, "db"));
        assert!(!index(&[("a", &one)]).is_shared(&a, "db"));
        other.deleting = true;
        assert!(!index(&[("a", &one), ("b", &other)]).is_shared(&a, "db"));
    }

    #[test]
    fn whoever_shares_an_identity_is_told_when_it_changes_hands() {
        let one = claimant("db", None, "2026-01-01T00:00:00Z");
        let two = claimant("db", None, "2026-01-02T00:00:00Z");
        let mut index = index(&[("a", &one)]);
        assert_eq!(index.insert(&Uid::from("b"), two.clone()), [Uid::from("a")]);
        assert_eq!(index.insert(&Uid::from("b"), two), [] as [Uid; 0]);
        assert_eq!(index.insert(&Uid::from("a"), claimant("x", None, "")), [Uid::from("b")]);
        assert_eq!(index.remove(&Uid::from("b")), [] as [Uid; 0]);
    }

    #[test]
    fn an_identity_that_ten_thousand_objects_name_concerns_two_at_each_change() {
        let mut index = IdentityIndex::default();
        let uid = |number: u32| Uid::from(format!("u{number:05}"));
        let mut concerned = 0;
        for number in 0..10_000 {
            concerned += index.insert(&uid(number), claimant("db", None, "2026-01-01T00:00:00Z")).len();
        }
        assert!(concerned <= 2, "{concerned} when they come");
        assert_eq!(index.insert(&uid(7), claimant("db", Some("db"), "2026-01-01T00:00:00Z")), [uid(0)]);
        assert_eq!(index.remove(&uid(7)), [uid(0)]);
    }

    /// What each object may do, found the long way.
    fn rights(claimants: &BTreeMap<u8, Claimant>) -> BTreeMap<u8, (bool, bool)> {
        let uid = |number: u8| Uid::from(number.to_string());
        let rank = |number: u8, claimant: &Claimant, identity: &str| {
            (claimant.owns.as_deref() != Some(identity), claimant.created.clone(), uid(number))
        };
        let of = |(number, claimant): (&u8, &Claimant)| {
            let Some(identity) = claimant.wants.as_deref() else { return (*number, (false, false)) };
            let others: Vec<_> = claimants
                .iter()
                .filter(|(other, theirs)| *other != number && identities(theirs).any(|named| named == identity))
                .collect();
            let own = rank(*number, claimant, identity);
            let has = others.iter().all(|(other, theirs)| own < rank(**other, theirs, identity));
            (*number, (has, others.iter().any(|(_, theirs)| !theirs.deleting)))
        };
        claimants.iter().map(of).collect()
    }

    proptest! {
        #[test]
        fn whatever_comes_and_goes_rights_are_as_found_the_long_way_and_whoever_they_changed_for_is_told(
            steps in proptest::collection::vec(
                (0_u8..6, proptest::option::of((0_u8..3, 0_u8..4, 0_u8..3, any::<bool>()))), 1..40)
        ) {
            let mut index = IdentityIndex::default();
            let mut claimants = BTreeMap::new();
            for (number, step) in steps {
                let before = rights(&claimants);
                let uid = Uid::from(number.to_string());
                let told = match step {
                    Some((wants, owns, created, deleting)) => {
                        let name = |number: u8| (number > 0).then(|| number.to_string());
                        let claimant = Claimant { wants: name(wants), owns: name(owns), created: created.to_string(), deleting };
                        claimants.insert(number, claimant.clone());
                        index.insert(&uid, claimant)
                    }
                    None => {
                        claimants.remove(&number);
                        index.remove(&uid)
                    }
                };
                for (other, after) in rights(&claimants) {
                    let (claimant, uid) = (&claimants[&other], Uid::from(other.to_string()));
                    let shared = claimant.wants.as_ref().is_some_and(|wants| index.is_shared(&uid, wants));
                    prop_assert_eq!((index.has(&uid, claimant), shared), after);
                    if other != number && before.get(&other).is_some_and(|before| *before != after) {
                        prop_assert!(told.contains(&uid), "{} was not told", other);
                    }
                }
            }
            if claimants.is_empty() {
                prop_assert!(index.by_identity.is_empty());
            }
        }
    }

    #[test]
    fn an_object_without_identity_has_none() {
        let nameless = Claimant { wants: None, ..claimant("", None, "") };
        assert!(!IdentityIndex::default().has(&Uid::from("a"), &nameless));
    }
}
