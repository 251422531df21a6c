//! The held objects of one target with their reasons, and the counts by reason.
//!
//! Counts are updated with each change, so that no step scans all objects.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::held_corrections::BreakerCounts;
use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

use crate::engine::corrections::Held;

/// The reason why each object of one target is held.
#[derive(Debug)]
pub(in crate::engine) struct HeldCounts {
    held: BTreeMap<Uid, Held>,
    /// The begin of each hold that matters to a person. Most objects are in sync and have none.
    began: BTreeMap<Uid, Moment>,
    counts: BTreeMap<Held, i64>,
    /// The time of the engine's current step.
    now: Moment,
}

impl Default for HeldCounts {
    fn default() -> Self {
        Self { held: BTreeMap::new(), began: BTreeMap::new(), counts: BTreeMap::new(), now: Moment::START }
    }
}

impl HeldCounts {
    /// Sets the time of the changes that follow.
    pub(in crate::engine) const fn begin_step(&mut self, now: Moment) {
        self.now = now;
    }

    /// Sets the reason of an object. Returns the previous one, and how long it lasted if it ends now and matters to a
    /// person.
    pub(in crate::engine) fn set(&mut self, uid: &Uid, why: Option<Held>) -> (Option<Held>, Option<Duration>) {
        let before = match why {
            Some(why) => self.held.insert(uid.clone(), why),
            None => self.held.remove(uid),
        };
        if before == why {
            return (before, None);
        }
        let began = match why.filter(|why| why.is_noteworthy()) {
            Some(_) => self.began.insert(uid.clone(), self.now),
            None => self.began.remove(uid),
        };
        for (why, by) in [(before, -1), (why, 1)] {
            if let Some(why) = why {
                *self.counts.entry(why).or_default() += by;
            }
        }
        (before, began.map(|began| self.now - began))
    }

    /// Returns every held object with its reason.
    pub(in crate::engine) fn all(&self) -> impl Iterator<Item = (&Uid, Held)> {
        self.held.iter().map(|(uid, held)| (uid, *held))
    }

    /// Returns the objects that are held for this reason.
    pub(in crate::engine) fn held_for(&self, why: Held) -> impl Iterator<Item = &Uid> {
        self.held.iter().filter(move |(_, held)| **held == why).map(|(uid, _)| uid)
    }

    /// Returns true if an object is held for this reason. Called on each step.
    pub(in crate::engine) fn holds_any_for(&self, why: Held) -> bool {
        self.counts.get(&why).is_some_and(|count| *count > 0)
    }

    /// The number of objects that are held for this reason.
    pub(in crate::engine) fn count(&self, why: Held) -> usize {
        self.counts.get(&why).and_then(|count| usize::try_from(*count).ok()).unwrap_or_default()
    }

    /// Returns the number of held objects for each reason.
    pub(in crate::engine) fn counts(&self) -> impl Iterator<Item = (Held, i64)> {
        self.counts.iter().map(|(why, count)| (*why, *count))
    }
}

/// The holds of a target that no reader can see from its objects, its text or the poller's Lease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetHeld {
    /// The counts of the breaker while it is open.
    pub breaker: Option<BreakerCounts>,
    /// The number of objects that wait for a free slot in the target's limits.
    pub limited: usize,
    /// Single objects, the first by name, with the time of the next try where one follows from a time.
    pub objects: Vec<(Uid, Held, Option<Moment>)>,
    /// The number of objects that are held and not listed.
    pub left_out: usize,
}
