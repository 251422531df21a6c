//! The objects of one target that are held, by reason.
//!
//! Counts are updated with each change; no query scans all objects.

use std::collections::BTreeMap;

use drift_api::identity::Uid;

use crate::engine::corrections::held::Held;

/// The reason why each object of one target is held.
#[derive(Debug, Default)]
pub(super) struct HeldCounts {
    held: BTreeMap<Uid, Held>,
    counts: BTreeMap<Held, i64>,
}

impl HeldCounts {
    /// Sets the reason of an object. Returns the one before.
    pub(super) fn set(&mut self, uid: &Uid, why: Option<Held>) -> Option<Held> {
        let before = match why {
            Some(why) => self.held.insert(uid.clone(), why),
            None => self.held.remove(uid),
        };
        for (why, by) in [(before, -1), (why, 1)] {
            if let Some(why) = why {
                *self.counts.entry(why).or_default() += by;
            }
        }
        before
    }

    /// Every object that is held, with the reason.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Uid, Held)> {
        self.held.iter().map(|(uid, held)| (uid, *held))
    }

    /// The objects that are held for this reason.
    pub(super) fn held_for(&self, why: Held) -> impl Iterator<Item = &Uid> {
        self.held.iter().filter(move |(_, held)| **held == why).map(|(uid, _)| uid)
    }

    /// Returns true if an object is held for this reason. Asked at each turn.
    pub(super) fn holds_any_for(&self, why: Held) -> bool {
        self.counts.get(&why).is_some_and(|count| *count > 0)
    }

    /// How many objects are held for each reason.
    pub(super) fn counts(&self) -> impl Iterator<Item = (Held, i64)> {
        self.counts.iter().map(|(why, count)| (*why, *count))
    }
}
