//! A queue of objects by time. Each object has one time.

use std::collections::{BTreeSet, HashMap};

use crate::collections::shared_text::{Uid, UidHasher};
use crate::timing::moment::Moment;

/// Objects by time. Of one moment, the first uid comes first.
#[derive(Clone, Debug, Default)]
pub struct TimeQueue {
    order: BTreeSet<(Moment, Uid)>,
    times: HashMap<Uid, Moment, UidHasher>,
}

impl TimeQueue {
    /// Sets the time of an object, or removes the object.
    pub fn set(&mut self, uid: &Uid, at: Option<Moment>) {
        if self.time_of(uid) == at {
            return;
        }
        if let Some((uid, before)) = self.times.remove_entry(uid) {
            self.order.remove(&(before, uid));
        }
        if let Some(at) = at {
            self.order.insert((at, uid.clone()));
            self.times.insert(uid.clone(), at);
        }
    }

    /// Returns the time of an object.
    #[must_use]
    pub fn time_of(&self, uid: &Uid) -> Option<Moment> {
        self.times.get(uid).copied()
    }

    /// Returns the first time.
    #[must_use]
    pub fn next_at(&self) -> Option<Moment> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Removes the first object, if its time has come.
    pub fn pop_due(&mut self, now: Moment) -> Option<Uid> {
        let (_, uid) = self.next_at().filter(|at| *at <= now).and_then(|_| self.order.pop_first())?;
        self.times.remove(&uid);
        Some(uid)
    }

    /// Returns the objects in no order.
    pub fn uids(&self) -> impl Iterator<Item = &Uid> {
        self.times.keys()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    #[test]
    fn of_one_moment_the_first_uid_comes_first() {
        let mut queue = TimeQueue::default();
        let [a, b, c] = ["a", "b", "c"].map(Uid::from);
        for (uid, time) in [(&c, 2), (&b, 2), (&a, 3)] {
            queue.set(uid, Some(at(time)));
        }
        assert_eq!(queue.pop_due(at(1)), None);
        assert_eq!(std::iter::from_fn(|| queue.pop_due(at(3))).collect::<Vec<_>>(), [b, c, a]);
    }

    proptest! {
        #[test]
        fn the_last_time_of_an_object_counts(
            steps in prop::collection::vec((0..5_u8, prop::option::of(0..9_u64)), 0..60),
        ) {
            let (mut queue, mut model) = (TimeQueue::default(), BTreeMap::new());
            let first = |model: &BTreeMap<Uid, Moment>| model.iter().map(|(uid, at)| (*at, uid.clone())).min();
            for (object, time) in steps {
                let time = time.map(at);
                if object == 4 {
                    let now = time.unwrap_or(at(9));
                    let due = first(&model).filter(|(at, _)| *at <= now).map(|(_, uid)| uid);
                    due.iter().for_each(|uid| _ = model.remove(uid));
                    prop_assert_eq!(queue.pop_due(now), due);
                    continue;
                }
                let uid = Uid::from(object.to_string().as_str());
                queue.set(&uid, time);
                model.remove(&uid);
                time.map(|time| model.insert(uid.clone(), time));
                prop_assert_eq!(queue.time_of(&uid), time);
                prop_assert_eq!(queue.next_at(), first(&model).map(|(at, _)| at));
            }
            prop_assert_eq!(queue.order.len(), model.len());
            prop_assert!(queue.uids().all(|uid| model.contains_key(uid)) && queue.times.len() == model.len());
        }
    }
}
