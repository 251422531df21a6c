//! The memory for the fields of objects: a part of the program's limit for all objects, and half of that for the
//! objects of one namespace. So the large objects of one tenant never end a program that serves all.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use drift_api::collections::shared_text::SharedText;

/// Eighths of the memory limit for the fields of all objects: 48 MiB of the shipped 128 MiB. Answers may take as much,
/// and the programs themselves take 20 MiB.
const EIGHTHS_OF_ALL: usize = 3;

/// An object takes at most this part of the room that is left. So large objects are refused first, and leave room for
/// the small ones that follow.
const PART_OF_ROOM: usize = 8;

/// The memory that the fields of objects take.
#[derive(Debug, Default)]
pub(super) struct ObjectMemory {
    /// Bytes for the fields of all objects. `None` without a limit.
    limit: Option<usize>,
    taken: usize,
    namespaces: BTreeMap<Option<SharedText>, Namespace>,
    /// Namespaces with refused objects.
    crowded: BTreeSet<Option<SharedText>>,
}

#[derive(Debug, Default)]
struct Namespace {
    taken: usize,
    /// Number of objects without their fields, by the bytes of those.
    refused: BTreeMap<u32, usize>,
}

/// The fields of one object, as they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// They are kept and take these bytes.
    Bytes(u32),
    /// There was no room for these bytes.
    Refused(u32),
}

impl ObjectMemory {
    /// Creates the memory of a program with this limit, in bytes.
    pub(super) fn of(memory_limit: Option<u64>) -> Self {
        let limit = memory_limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX) / 8 * EIGHTHS_OF_ALL);
        Self { limit, ..Self::default() }
    }

    /// Counts the fields of an object, in place of their former ones. Fields that are kept need room for their growth.
    pub(super) fn count(&mut self, namespace: Option<&SharedText>, former: Option<Counted>, bytes: usize) -> Counted {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let before = former.map_or(0, Counted::kept);
        let taken = self.namespaces.get(&namespace.cloned()).map_or(0, |space| space.taken);
        let growth = bytes.saturating_sub(before);
        let has_room = growth == 0 || self.has_room(taken, growth);
        former.into_iter().for_each(|former| self.release(namespace, former));
        let space = self.namespaces.entry(namespace.cloned()).or_default();
        if !has_room {
            *space.refused.entry(bytes).or_default() += 1;
            self.crowded.insert(namespace.cloned());
            return Counted::Refused(bytes);
        }
        self.taken += bytes as usize;
        space.taken += bytes as usize;
        Counted::Bytes(bytes)
    }

    /// Releases the fields of an object that is gone.
    pub(super) fn release(&mut self, namespace: Option<&SharedText>, counted: Counted) {
        let key = namespace.cloned();
        let Some(space) = self.namespaces.get_mut(&key) else { return };
        match counted {
            Counted::Bytes(bytes) => {
                self.taken = self.taken.saturating_sub(bytes as usize);
                space.taken = space.taken.saturating_sub(bytes as usize);
            }
            Counted::Refused(bytes) => {
                if let Entry::Occupied(mut count) = space.refused.entry(bytes) {
                    *count.get_mut() -= 1;
                    if *count.get() == 0 {
                        count.remove();
                    }
                }
            }
        }
        let is_crowded = !space.refused.is_empty();
        if space.taken == 0 && !is_crowded {
            self.namespaces.remove(&key);
        }
        if !is_crowded {
            self.crowded.remove(&key);
        }
    }

    /// Returns true if an object that was refused has room.
    pub(super) fn has_room_again(&self) -> bool {
        self.crowded
            .iter()
            .filter_map(|key| self.namespaces.get(key))
            .any(|space| space.refused.keys().next().is_some_and(|smallest| self.has_room(space.taken, *smallest)))
    }

    /// Returns true if so many bytes have room in a namespace that takes `taken`.
    fn has_room(&self, taken: usize, bytes: u32) -> bool {
        self.limit.is_none_or(|all| {
            let room = all.saturating_sub(self.taken).min((all / 2).saturating_sub(taken));
            bytes as usize <= room / PART_OF_ROOM
        })
    }
}

impl Counted {
    const fn kept(self) -> u32 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Refused(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: usize = 1024 * 1024;

    fn of_mebibytes(limit: u64) -> ObjectMemory {
        ObjectMemory::of(Some(limit * MIB as u64))
    }

    fn is_kept(counted: &Counted) -> bool {
        matches!(counted, Counted::Bytes(_))
    }

    #[test]
    fn large_objects_leave_room_for_small_ones() {
        let mut memory = of_mebibytes(128);
        let (loud, quiet) = (SharedText::from("loud"), SharedText::from("quiet"));
        let large = (0..700).filter(|_| is_kept(&memory.count(Some(&loud), None, 250_000))).count();
        assert!((80..100).contains(&large), "{large} of 250 kB in 24 MiB");
        for _ in 0..1_000 {
            assert_eq!(memory.count(Some(&quiet), None, 2_000), Counted::Bytes(2_000));
        }
        assert_eq!(memory.count(Some(&loud), None, 2_000), Counted::Bytes(2_000), "a small one of the same tenant");
    }

    #[test]
    fn kept_fields_need_room_for_their_growth() {
        let (mut memory, space) = (of_mebibytes(8), SharedText::from("a"));
        let first = memory.count(Some(&space), None, 100_000);
        while is_kept(&memory.count(Some(&space), None, 100_000)) {}
        let grown = memory.count(Some(&space), Some(first), 100_001);
        assert_eq!(grown, Counted::Bytes(100_001));
        assert_eq!(memory.count(Some(&space), Some(grown), 250_000), Counted::Refused(250_000));
    }

    #[test]
    fn refused_objects_have_room_after_enough_are_gone() {
        let mut memory = of_mebibytes(8);
        let [space, other, third] = ["a", "b", "c"].map(SharedText::from);
        let fill = |memory: &mut ObjectMemory, space: &SharedText| -> Vec<Counted> {
            (0..100).map(|_| memory.count(Some(space), None, 100_000)).collect()
        };
        let (counted, others) = (fill(&mut memory, &space), fill(&mut memory, &other));
        let refused = memory.count(Some(&third), None, 195_000);
        assert_eq!(refused, Counted::Refused(195_000), "two others take the most");
        assert!(!memory.has_room_again());
        let release = |memory: &mut ObjectMemory, space: &SharedText, counted: Vec<Counted>| {
            counted.into_iter().for_each(|counted| memory.release(Some(space), counted));
        };
        release(&mut memory, &space, counted);
        release(&mut memory, &other, others);
        assert!(memory.has_room_again(), "the third namespace");
        assert_eq!(memory.count(Some(&third), Some(refused), 1_000), Counted::Bytes(1_000));
        assert!(!memory.has_room_again(), "none is refused any more");
        memory.count(Some(&third), None, MIB);
        assert!(!memory.has_room_again(), "one that never has room");
    }

    #[test]
    fn without_a_limit_nothing_is_refused() {
        let mut memory = ObjectMemory::of(None);
        assert_eq!(memory.count(None, None, 1 << 31), Counted::Bytes(1 << 31));
        assert!(!memory.has_room_again());
    }

    proptest! {
        #[test]
        fn what_is_kept_stays_within_the_limit(steps in prop::collection::vec((0_u8..4, 0_usize..600_000, any::<bool>()), 1..200)) {
            let mut memory = of_mebibytes(8);
            let mut kept: Vec<(SharedText, Counted)> = Vec::new();
            for (space, bytes, goes) in steps {
                if goes && let Some((space, counted)) = kept.pop() {
                    memory.release(Some(&space), counted);
                }
                let space = SharedText::from(space.to_string());
                kept.push((space.clone(), memory.count(Some(&space), None, bytes)));
                let sum: usize = kept.iter().map(|(_, counted)| match counted {
                    Counted::Bytes(bytes) => *bytes as usize,
                    Counted::Refused(_) => 0,
                }).sum();
                prop_assert_eq!(memory.taken, sum);
                prop_assert!(sum <= 3 * MIB);
            }
            for (space, counted) in kept {
                memory.release(Some(&space), counted);
            }
            prop_assert!(memory.taken == 0 && memory.namespaces.is_empty() && memory.crowded.is_empty());
        }
    }
}
