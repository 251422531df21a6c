//! When to look at which object again: one alarm for each.
//!
//! This file must not know why anybody waits.

use std::collections::{BTreeSet, HashMap};

use drift_model::identity::Uid;
use drift_model::moment::Moment;

/// One alarm for each object.
#[derive(Clone, Debug, Default)]
pub struct Alarms {
    order: BTreeSet<(Moment, Uid)>,
    set: HashMap<Uid, Moment>,
}

impl Alarms {
    /// Sets the object's alarm in place of the one it had.
    pub fn set(&mut self, uid: &Uid, at: Moment) {
        self.clear(uid);
        self.order.insert((at, uid.clone()));
        self.set.insert(uid.clone(), at);
    }

    /// Takes the object's alarm away.
    pub fn clear(&mut self, uid: &Uid) {
        if let Some(at) = self.set.remove(uid) {
            self.order.remove(&(at, uid.clone()));
        }
    }

    /// The next alarm.
    #[must_use]
    pub fn next(&self) -> Option<Moment> {
        self.order.first().map(|(at, _)| *at)
    }

    /// An object whose alarm is due; it has none from now on.
    pub fn pop(&mut self, now: Moment) -> Option<Uid> {
        if self.next()? > now {
            return None;
        }
        let (_, uid) = self.order.pop_first()?;
        self.set.remove(&uid);
        Some(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixtures::at;

    #[test]
    fn each_object_has_one_alarm_and_the_earliest_comes_first() {
        let mut alarms = Alarms::default();
        let (a, b) = (Uid::from("a"), Uid::from("b"));
        alarms.set(&a, at(5));
        alarms.set(&b, at(3));
        alarms.set(&a, at(2));
        assert_eq!(alarms.next(), Some(at(2)));
        assert_eq!(alarms.pop(at(1)), None);
        assert_eq!(alarms.pop(at(9)), Some(a.clone()));
        alarms.clear(&b);
        assert_eq!(alarms.pop(at(9)), None);
        assert_eq!(alarms.next(), None);
    }
}
