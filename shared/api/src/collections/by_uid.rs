//! What is kept of each of many objects, found by the object's uid, in little memory.
//!
//! A `HashMap` keeps a uid beside what belongs to it, and has room for half as much again on average. Here what is kept
//! names its object itself and stands close together in a list; a hash table has only the four bytes of its place there.
//! This file must not know what is kept.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use triomphe::Arc;

use crate::collections::shared_text::SharedText;

/// An object's uid.
pub type Uid = SharedText;

/// The bytes of a list that stay its own however few it needs: what few objects need costs nothing to keep.
const KEPT_BYTES: usize = 8 * 1_024;

/// What is kept of one object.
pub trait OfObject {
    /// The object.
    fn uid(&self) -> &Uid;
}

impl OfObject for Uid {
    fn uid(&self) -> &Uid {
        self
    }
}

impl<T> OfObject for (Uid, T) {
    fn uid(&self) -> &Uid {
        &self.0
    }
}

impl<T: OfObject> OfObject for Arc<T> {
    fn uid(&self) -> &Uid {
        (**self).uid()
    }
}

/// One entry for each object, in no order.
#[derive(Clone, Debug)]
pub struct ByUid<T> {
    entries: Vec<T>,
    /// Where each stands in `entries`, by its uid: four bytes are enough for more objects than a cluster can have.
    places: HashTable<u32>,
    hasher: RandomState,
}

impl<T> Default for ByUid<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: HashTable::new(), hasher: RandomState::new() }
    }
}

impl<T: OfObject> ByUid<T> {
    /// That of an object.
    #[must_use]
    pub fn get(&self, uid: &str) -> Option<&T> {
        self.entries.get(self.place(uid)?)
    }

    /// That of an object, to change anything of it but whose it is.
    pub fn get_mut(&mut self, uid: &str) -> Option<&mut T> {
        let place = self.place(uid)?;
        self.entries.get_mut(place)
    }

    /// Whether there is one of that object.
    #[must_use]
    pub fn has(&self, uid: &str) -> bool {
        self.get(uid).is_some()
    }

    /// All.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// All, to change anything of them but whose they are.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// What was kept.
    #[must_use]
    pub fn into_entries(self) -> Vec<T> {
        self.entries
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keeps it, in the place of what was kept of its object.
    pub fn insert(&mut self, entry: T) -> Option<T> {
        let hash = self.hash(entry.uid());
        if let Some(place) = self.place_of(hash, entry.uid()) {
            return Some(std::mem::replace(&mut self.entries[place], entry));
        }
        let place = self.entries.len() as u32;
        push_closely(&mut self.entries, entry);
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.places.insert_unique(hash, place, |place| hasher.hash_one(&**entries[*place as usize].uid()));
        None
    }

    /// Keeps nothing of an object any more.
    pub fn remove(&mut self, uid: &str) -> Option<T> {
        let hash = self.hash(uid);
        self.take_hashed(hash, self.place_of(hash, uid)?)
    }

    /// Keeps those of which `stays` says so; it may change anything of them but whose they are.
    pub fn retain(&mut self, stays: impl FnMut(&mut T) -> bool) {
        let before = self.entries.len();
        self.entries.retain_mut(stays);
        if self.entries.len() < before {
            self.places.clear();
            for (entry, place) in self.entries.iter().zip(0..) {
                let (entries, hasher) = (&self.entries, &self.hasher);
                let hash = |place: &u32| hasher.hash_one(&**entries[*place as usize].uid());
                self.places.insert_unique(self.hasher.hash_one(&**entry.uid()), place, hash);
            }
            self.give_room_back();
        }
    }

    /// Where that of an object stands, until one is taken out.
    pub(crate) fn place(&self, uid: &str) -> Option<usize> {
        self.place_of(self.hash(uid), uid)
    }

    /// Takes out the one that stands there; what stood last stands there from now on.
    pub(crate) fn take(&mut self, place: usize) -> Option<T> {
        self.take_hashed(self.hash(self.entries.get(place)?.uid()), place)
    }

    fn take_hashed(&mut self, hash: u64, place: usize) -> Option<T> {
        let found = self.places.find_entry(hash, |known| *known as usize == place).ok()?;
        found.remove();
        let taken = self.entries.swap_remove(place);
        if let Some(moved) = self.entries.get(place) {
            let (hash, before) = (self.hash(moved.uid()), self.entries.len());
            if let Some(known) = self.places.find_mut(hash, |known| *known as usize == before) {
                *known = place as u32;
            }
        }
        self.give_room_back();
        Some(taken)
    }

    /// The one that stands there.
    pub(crate) fn at(&self, place: usize) -> Option<&T> {
        self.entries.get(place)
    }

    /// The one that stands there, to change anything of it but whose it is.
    pub(crate) fn at_mut(&mut self, place: usize) -> Option<&mut T> {
        self.entries.get_mut(place)
    }

    fn place_of(&self, hash: u64, uid: &str) -> Option<usize> {
        let is_its = |place: &u32| **self.entries[*place as usize].uid() == *uid;
        self.places.find(hash, is_its).map(|place| *place as usize)
    }

    fn hash(&self, uid: &str) -> u64 {
        self.hasher.hash_one(uid)
    }

    fn give_room_back(&mut self) {
        give_room_back(&mut self.entries);
        // A place takes up to eight bytes with what a hash table has beside it.
        if self.places.capacity() > kept_room::<[u8; 8]>().max(4 * self.entries.len()) {
            let (entries, hasher) = (&self.entries, &self.hasher);
            self.places.shrink_to(entries.capacity(), |place| hasher.hash_one(&**entries[*place as usize].uid()));
        }
    }
}

/// Appends to a long list without room for as much again: an eighth more at a time is moved often enough to cost nothing.
pub(crate) fn push_closely<T>(list: &mut Vec<T>, entry: T) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 8).max(8));
    }
    list.push(entry);
}

/// Gives room back that a list has had no use for since it was a tenth longer. A removal moves ten entries for that at most, on average.
pub(crate) fn give_room_back<T>(list: &mut Vec<T>) {
    if list.capacity() > kept_room::<T>().max(list.len() + list.len() / 4) {
        list.shrink_to(list.len() + list.len() / 8);
    }
}

const fn kept_room<T>() -> usize {
    KEPT_BYTES / size_of::<T>()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn name(object: u8) -> Uid {
        object.to_string().as_str().into()
    }

    proptest! {
        #[test]
        fn it_keeps_what_a_map_keeps(steps in prop::collection::vec((0..4_u8, 0..12_u8, any::<u8>()), 0..120)) {
            let (mut kept, mut model) = (ByUid::default(), BTreeMap::new());
            for (step, object, value) in steps {
                let uid = name(object);
                match step {
                    0 | 1 => {
                        let before = kept.insert((uid.clone(), value));
                        prop_assert_eq!(before.map(|entry| entry.1), model.insert(uid, value));
                    }
                    2 => {
                        kept.iter_mut().for_each(|entry| entry.1 ^= value);
                        model.values_mut().for_each(|kept| *kept ^= value);
                        prop_assert_eq!(kept.remove(&uid).map(|entry| entry.1), model.remove(&uid));
                    }
                    _ => {
                        kept.retain(|entry| entry.1 % 3 != value % 3);
                        model.retain(|_, kept| *kept % 3 != value % 3);
                    }
                }
                for object in 0..12 {
                    let uid = name(object);
                    prop_assert_eq!(kept.get(&uid).map(|entry| entry.1), model.get(&uid).copied());
                    prop_assert_eq!(kept.has(&uid), model.contains_key(&uid));
                }
                let all: BTreeMap<Uid, u8> = kept.iter().cloned().collect();
                prop_assert_eq!((&all, kept.len()), (&model, model.len()));
            }
        }
    }

    fn gives_room_back<T: OfObject>(entry: impl Fn(Uid) -> T) {
        let many = 8 * 1_024;
        let uid = |number: usize| Uid::from(number.to_string().as_str());
        let mut kept: ByUid<T> = (0..many).map(uid).fold(ByUid::default(), |mut kept, uid| {
            kept.insert(entry(uid));
            kept
        });
        assert!(kept.entries.capacity() <= many + many / 8, "{}", kept.entries.capacity());
        (10..many).for_each(|number| {
            kept.remove(&uid(number));
            let room = kept.entries.capacity();
            assert!(room <= kept_room::<T>().max(kept.len() + kept.len() / 4), "{room} for {}", kept.len());
        });
        assert!((0..10).all(|number| kept.has(&uid(number))) && kept.len() == 10);
        assert!(kept.places.capacity() <= 2 * kept_room::<[u8; 8]>());
    }

    #[test]
    fn many_that_left_give_their_room_back() {
        gives_room_back(|uid| uid);
        gives_room_back(|uid| (uid, [0_u8; 360]));
    }
}
