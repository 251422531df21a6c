//! Who names each external resource.
//!
//! Nearly always it is one object, which names no other: it is found by the resource, and tells the rest itself. This file must not
//! know what a change means for anybody.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;

use hashbrown::HashTable;
use triomphe::Arc;

use super::contenders::Contenders;
use super::said::Object;
use super::{ResourceName, Uid};
use crate::collections::by_uid::ByUid;

#[cfg(not(test))]
type Hashing = std::hash::RandomState;
/// Many names have one hash.
#[cfg(test)]
type Hashing = std::hash::BuildHasherDefault<super::tests::FewHashes>;

/// The resources that anybody names.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources {
    /// Objects with one resource only, which nobody else names.
    alone: HashTable<Arc<Object>>,
    /// Who names any other resource.
    others: HashMap<ResourceName, Contenders>,
    hashing: Hashing,
}

impl Resources {
    /// Who names a resource, if anybody does.
    pub(super) fn contenders(&self, resource: &ResourceName) -> Option<Cow<'_, Contenders>> {
        if let Some(contenders) = self.others.get(resource) {
            return Some(Cow::Borrowed(contenders));
        }
        let object = self.alone.find(self.hashing.hash_one(resource), |object| has_only(object, resource))?;
        Some(Cow::Owned(alone(object, resource)))
    }

    /// Those who claim a resource in vain.
    pub(super) fn claiming_in_vain(&self) -> impl Iterator<Item = (&Uid, &ResourceName)> {
        let contending = self.others.iter();
        contending.flat_map(|(resource, all)| all.claiming_in_vain().map(move |uid| (uid, resource)))
    }

    /// Takes out who names a resource.
    pub(super) fn take(&mut self, resource: &ResourceName) -> Contenders {
        if let Some(contenders) = self.others.remove(resource) {
            return contenders;
        }
        let hash = self.hashing.hash_one(resource);
        let found = self.alone.find_entry(hash, |object| has_only(object, resource));
        found.map_or_else(|_| Contenders::default(), |found| alone(&found.remove().0, resource))
    }

    /// Puts in who names a resource by now, if anybody does.
    pub(super) fn put(&mut self, resource: ResourceName, contenders: Contenders, objects: &ByUid<Arc<Object>>) {
        let alone = contenders.only().and_then(|uid| objects.get(uid)).filter(|object| has_only(object, &resource));
        if let Some(object) = alone {
            // Each of them has one.
            let hash_of =
                |object: &Arc<Object>| object.said.only_resource().map_or(0, |only| self.hashing.hash_one(only));
            self.alone.insert_unique(hash_of(object), object.clone(), hash_of);
        } else if !contenders.is_empty() {
            self.others.insert(resource, contenders);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.alone.is_empty() && self.others.is_empty()
    }
}

fn has_only(object: &Object, resource: &ResourceName) -> bool {
    object.said.only_resource() == Some(resource)
}

fn alone(object: &Object, resource: &ResourceName) -> Contenders {
    Contenders::alone(&object.uid, &object.said.claimant(), resource)
}
