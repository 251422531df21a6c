//! The memory for the fields of objects: a part of the program's limit for all objects, and half of that for the
//! objects of one namespace. So the large objects of one tenant never end a program that serves all.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use drift_api::SharedText;

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

    /// Counts the fields of an object, in place of their former ones. Fields that do not grow are never refused.
    pub(super) fn count(&mut self, namespace: Option<&SharedText>, former: Option<Counted>, bytes: usize) -> Counted {
        former.into_iter().for_each(|former| self.release(namespace, former));
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let space = self.namespaces.entry(namespace.cloned()).or_default();
        let grows = !matches!(former, Some(Counted::Bytes(before)) if bytes <= before);
        if grows && !has_room(self.limit, self.taken, space.taken, bytes) {
            *space.refused.entry(bytes).or_default() += 1;
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
        if space.taken == 0 && space.refused.is_empty() {
            self.namespaces.remove(&key);
        }
    }

    /// Returns true if a list of the namespace's objects is worth its cost: half of the memory is free, and a refused
    /// object has room.
    pub(super) fn has_room_again(&self, namespace: Option<&SharedText>) -> bool {
        let (Some(limit), Some(space)) = (self.limit, self.namespaces.get(&namespace.cloned())) else { return false };
        let is_half_free = space.taken <= limit / 4 && self.taken <= limit / 2;
        let smallest = space.refused.keys().next();
        is_half_free && smallest.is_some_and(|bytes| has_room(self.limit, self.taken, space.taken, *bytes))
    }
}

/// Returns true if an object with these bytes has room.
fn has_room(limit: Option<usize>, taken: usize, taken_by_namespace: usize, bytes: u32) -> bool {
    limit.is_none_or(|all| {
        let room = all.saturating_sub(taken).min((all / 2).saturating_sub(taken_by_namespace));
        bytes as usize <= room / PART_OF_ROOM
    })
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
    fn fields_that_do_not_grow_stay() {
        let (mut memory, space) = (of_mebibytes(8), SharedText::from("a"));
        let first = memory.count(Some(&space), None, 100_000);
        while is_kept(&memory.count(Some(&space), None, 100_000)) {}
        let same = memory.count(Some(&space), Some(first), 100_000);
        assert_eq!(same, Counted::Bytes(100_000));
        assert_eq!(memory.count(Some(&space), Some(same), 200_000), Counted::Refused(200_000));
    }

    #[test]
    fn refused_objects_have_room_after_enough_are_gone() {
        let (mut memory, space) = (of_mebibytes(8), SharedText::from("a"));
        let counted: Vec<_> = (0..100).map(|_| memory.count(Some(&space), None, 100_000)).collect();
        assert!(counted.contains(&Counted::Refused(100_000)) && !memory.has_room_again(Some(&space)));
        for kept in counted.iter().filter(|counted| is_kept(counted)) {
            memory.release(Some(&space), *kept);
        }
        assert!(memory.has_room_again(Some(&space)) && !memory.has_room_again(None));
        for refused in counted.into_iter().filter(|counted| !is_kept(counted)) {
            memory.count(Some(&space), Some(refused), 1_000);
        }
        assert!(!memory.has_room_again(Some(&space)), "none is refused any more");
        assert_eq!(memory.count(Some(&space), None, MIB), Counted::Refused(MIB as u32));
        assert!(!memory.has_room_again(Some(&space)), "one that never has room");
    }

    #[test]
    fn without_a_limit_nothing_is_refused() {
        let mut memory = ObjectMemory::of(None);
        assert_eq!(memory.count(None, None, 1 << 31), Counted::Bytes(1 << 31));
        assert!(!memory.has_room_again(None));
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
            prop_assert!(memory.taken == 0 && memory.namespaces.is_empty());
        }
    }
}
