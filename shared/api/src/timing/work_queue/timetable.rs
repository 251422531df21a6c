//! The times that objects have, one each: whose is the earliest, and when one's own is.
//!
//! A binary heap whose members know their rank in it, so that a time can be moved or taken away: nearly every object has one,
//! and a map with an ordered set beside it takes more than twice the memory. It must not know what the times are for.

use crate::collections::by_uid::{ByUid, OfObject, give_room_back, push_closely};
use crate::identity::Uid;
use crate::timing::moment::Moment;

/// When each object's time is.
#[derive(Clone, Debug, Default)]
pub(super) struct Timetable {
    /// A binary heap: each comes before the two that stand at twice its rank.
    times: Vec<Time>,
    members: ByUid<Member>,
}

/// A time, and whose it is.
#[derive(Clone, Copy, Debug)]
struct Time {
    at: Moment,
    /// Where the object stands among the members.
    place: u32,
}

/// An object that has a time.
#[derive(Clone, Debug)]
struct Member {
    uid: Uid,
    /// Where its time stands in the heap.
    rank: u32,
}

impl OfObject for Member {
    fn uid(&self) -> &Uid {
        &self.uid
    }
}

impl Timetable {
    /// The earliest time.
    pub(super) fn first(&self) -> Option<Moment> {
        self.times.first().map(|first| first.at)
    }

    /// Takes out the earliest time if it has come, and says whose it was; of several at that time the first by uid.
    pub(super) fn take_due(&mut self, now: Moment) -> Option<Uid> {
        let first = self.times.first().filter(|first| first.at <= now)?;
        self.take(first.place as usize)
    }

    /// The time of an object.
    pub(super) fn of(&self, uid: &str) -> Option<Moment> {
        self.members.get(uid).map(|member| self.times[member.rank as usize].at)
    }

    /// The object has that time from now on, or the earlier one that it has.
    pub(super) fn add(&mut self, uid: &Uid, at: Moment) {
        let rank = if let Some(member) = self.members.get(uid) {
            let rank = member.rank as usize;
            self.times[rank].at = self.times[rank].at.min(at);
            rank
        } else {
            let (place, rank) = (self.members.len() as u32, self.times.len());
            self.members.insert(Member { uid: uid.clone(), rank: rank as u32 });
            push_closely(&mut self.times, Time { at, place });
            rank
        };
        self.rise(rank);
    }

    /// The object has no time any more.
    pub(super) fn remove(&mut self, uid: &str) {
        if let Some(place) = self.members.place(uid) {
            self.take(place);
        }
    }

    fn take(&mut self, place: usize) -> Option<Uid> {
        let Member { uid, rank } = self.members.take(place)?;
        if let Some(moved) = self.members.at(place) {
            self.times[moved.rank as usize].place = place as u32;
        }
        // The last of the heap gets its rank, and then the right one.
        let rank = rank as usize;
        self.times.swap_remove(rank);
        give_room_back(&mut self.times);
        if let Some(moved) = self.times.get(rank).copied() {
            self.put(moved, rank);
            self.sink(rank);
            self.rise(rank);
        }
        Some(uid)
    }

    /// Moves the time of that rank before those that are later.
    fn rise(&mut self, mut rank: usize) {
        let time = self.times[rank];
        while rank > 0 && self.is_before(&time, &self.times[(rank - 1) / 2]) {
            self.put(self.times[(rank - 1) / 2], rank);
            rank = (rank - 1) / 2;
        }
        self.put(time, rank);
    }

    /// Moves the time of that rank after those that are earlier.
    fn sink(&mut self, mut rank: usize) {
        let time = self.times[rank];
        while let Some(left) = self.times.get(2 * rank + 1) {
            let right = self.times.get(2 * rank + 2).filter(|right| self.is_before(right, left));
            let (next, step) = right.map_or((*left, 1), |right| (*right, 2));
            if !self.is_before(&next, &time) {
                break;
            }
            self.put(next, rank);
            rank = 2 * rank + step;
        }
        self.put(time, rank);
    }

    fn put(&mut self, time: Time, rank: usize) {
        self.times[rank] = time;
        if let Some(member) = self.members.at_mut(time.place as usize) {
            member.rank = rank as u32;
        }
    }

    fn is_before(&self, one: &Time, other: &Time) -> bool {
        one.at < other.at || (one.at == other.at && self.uid_of(one) < self.uid_of(other))
    }

    fn uid_of(&self, time: &Time) -> Option<&Uid> {
        self.members.at(time.place as usize).map(|member| &member.uid)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    impl Timetable {
        pub(in super::super) fn uids(&self) -> impl Iterator<Item = &Uid> {
            self.members.iter().map(OfObject::uid)
        }
    }

    proptest! {
        #[test]
        fn the_earliest_is_always_first(steps in prop::collection::vec((0..20_u8, prop::option::of(1..9_u64)), 0..200)) {
            let (mut timetable, mut model) = (Timetable::default(), BTreeMap::<Uid, Moment>::new());
            for (object, seconds) in steps {
                let uid: Uid = object.to_string().as_str().into();
                match seconds.map(|seconds| Moment::from_start(Duration::from_secs(seconds))) {
                    Some(at) => {
                        timetable.add(&uid, at);
                        let known = model.entry(uid.clone()).or_insert(at);
                        *known = at.min(*known);
                    }
                    None => {
                        timetable.remove(&uid);
                        model.remove(&uid);
                    }
                }
                prop_assert_eq!(timetable.first(), model.values().min().copied());
                prop_assert_eq!(timetable.of(&uid), model.get(&uid).copied());
            }
            let mut all: Vec<_> = model.into_iter().map(|(uid, at)| (at, uid)).collect();
            all.sort();
            for (at, uid) in all {
                prop_assert_eq!(timetable.take_due(at.saturating_sub(Duration::from_nanos(1))), None);
                prop_assert_eq!(timetable.take_due(at), Some(uid));
            }
            prop_assert!(timetable.first().is_none());
        }
    }
}
