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
pub struct Bearer {
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
#[derive(Clone, Debug, Default)]
pub struct IdentityIndex {
    bearers: HashMap<Uid, Bearer>,
    by_identity: BTreeMap<String, BTreeSet<Uid>>,
}

impl IdentityIndex {
    /// Takes an object in as it is now; gives the other objects whose right to act may have changed.
    pub fn insert(&mut self, uid: &Uid, bearer: Bearer) -> Vec<Uid> {
        if self.bearers.get(uid) == Some(&bearer) {
            return Vec::new();
        }
        let mut affected = self.remove(uid);
        for identity in identities(&bearer) {
            let uids = self.by_identity.entry(identity.to_owned()).or_default();
            affected.extend(uids.iter().cloned());
            uids.insert(uid.clone());
        }
        self.bearers.insert(uid.clone(), bearer);
        affected.sort_unstable();
        affected.dedup();
        affected
    }

    /// Drops an object; gives the others whose right to act may have changed.
    pub fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        let mut affected = Vec::new();
        for identity in self.bearers.remove(uid).iter().flat_map(identities) {
            if let Some(uids) = self.by_identity.get_mut(identity) {
                uids.remove(uid);
                affected.extend(uids.iter().cloned());
                if uids.is_empty() {
                    self.by_identity.remove(identity);
                }
            }
        }
        affected
    }

    /// Whether `bearer`, as the object of this uid, has the identity it wants: nobody else claimed it, or nobody
    /// older did; without any claim, nobody older wants it.
    #[must_use]
    pub fn has(&self, uid: &Uid, bearer: &Bearer) -> bool {
        let Some(identity) = &bearer.wants else { return false };
        let rank = |uid: &Uid, bearer: &Bearer| {
            let claims = bearer.owns.as_ref() == Some(identity);
            (!claims, bearer.created.clone(), uid.clone())
        };
        let own = rank(uid, bearer);
        self.others(uid, identity).all(|(other, theirs)| own < rank(other, theirs))
    }

    /// Whether another object that is not being deleted wants or claims the identity, so that a deletion leaves the outside.
    #[must_use]
    pub fn is_shared(&self, uid: &Uid, identity: &str) -> bool {
        self.others(uid, identity).any(|(_, other)| !other.deleting)
    }

    fn others<'a>(&'a self, uid: &'a Uid, identity: &str) -> impl Iterator<Item = (&'a Uid, &'a Bearer)> {
        let uids = self.by_identity.get(identity).into_iter().flatten();
        uids.filter(move |other| *other != uid).filter_map(|other| Some((other, self.bearers.get(other)?)))
    }
}

fn identities(bearer: &Bearer) -> impl Iterator<Item = &str> {
    let owned = bearer.owns.as_deref().filter(|owned| Some(*owned) != bearer.wants.as_deref());
    bearer.wants.as_deref().into_iter().chain(owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(wants: &str, owns: Option<&str>, created: &str) -> Bearer {
        Bearer {
            wants: Some(wants.to_owned()),
            owns: owns.map(str::to_owned),
            created: created.to_owned(),
            deleting: false,
        }
    }

    fn index(bearers: &[(&str, &Bearer)]) -> IdentityIndex {
        let mut index = IdentityIndex::default();
        for (uid, bearer) in bearers {
            index.insert(&Uid::from(*uid), (*bearer).clone());
        }
        index
    }

    #[test]
    fn the_claimant_has_it_else_the_oldest_and_the_uid_breaks_ties() {
        let old = bearer("db", None, "2026-01-01T00:00:00Z");
        let young = bearer("db", None, "2026-01-02T00:00:00Z");
        let claimant = bearer("db", Some("db"), "2026-01-03T00:00:00Z");
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
        let moved = bearer("new", Some("db"), "2026-01-03T00:00:00Z");
        let other = bearer("db", None, "2026-01-01T00:00:00Z");
        let index = index(&[("a", &moved), ("b", &other)]);
        assert!(!index.has(&Uid::from("b"), &other));
        assert!(index.has(&Uid::from("a"), &moved));
    }

    #[test]
    fn an_identity_is_shared_while_another_living_object_names_it() {
        let one = bearer("db", Some("db"), "2026-01-01T00:00:00Z");
        let mut other = bearer("db", None, "2026-01-02T00:00:00Z");
        let a = Uid::from("a");
        assert!(index(&[("a", &one), ("b", &other)]).is_shared(&a, "db"));
        assert!(!index(&[("a", &one)]).is_shared(&a, "db"));
        other.deleting = true;
        assert!(!index(&[("a", &one), ("b", &other)]).is_shared(&a, "db"));
    }

    #[test]
    fn whoever_shares_an_identity_is_told_when_it_changes_hands() {
        let one = bearer("db", None, "2026-01-01T00:00:00Z");
        let two = bearer("db", None, "2026-01-02T00:00:00Z");
        let mut index = index(&[("a", &one)]);
        assert_eq!(index.insert(&Uid::from("b"), two.clone()), [Uid::from("a")]);
        assert_eq!(index.insert(&Uid::from("b"), two), [] as [Uid; 0]);
        assert_eq!(index.insert(&Uid::from("a"), bearer("x", None, "")), [Uid::from("b")]);
        assert_eq!(index.remove(&Uid::from("b")), [] as [Uid; 0]);
    }

    #[test]
    fn an_object_without_identity_has_none() {
        let nameless = Bearer { wants: None, ..bearer("", None, "") };
        assert!(!IdentityIndex::default().has(&Uid::from("a"), &nameless));
    }
}
