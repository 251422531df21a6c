//! How many objects of one target are held, by why, as a gauge.
//!
//! It counts changes and never all objects. It must not know what holding means.

use std::collections::HashMap;

use drift_api::identity::Uid;

use crate::core::held::Held;
use crate::metrics::{HeldLabels, Metrics};

/// Why each object of one target is held.
#[derive(Debug)]
pub struct HeldCounts {
    target: String,
    metrics: Metrics,
    held: HashMap<Uid, Held>,
    /// How many are held for each.
    counts: HashMap<Held, i64>,
}

impl HeldCounts {
    /// Nothing is held.
    #[must_use]
    pub fn new(target: &str, metrics: Metrics) -> Self {
        Self { target: target.to_owned(), metrics, held: HashMap::new(), counts: HashMap::new() }
    }

    /// The object is held for this, or for nothing. Gives what it was held for before.
    pub fn set(&mut self, uid: &Uid, why: Option<Held>) -> Option<Held> {
        let before = match why {
            Some(why) => self.held.insert(uid.clone(), why),
            None => self.held.remove(uid),
        };
        if before != why {
            self.change(before, -1);
            self.change(why, 1);
            for (why, by) in [(before, -1), (why, 1)] {
                if let Some(why) = why {
                    *self.counts.entry(why).or_default() += by;
                }
            }
        }
        before
    }

    /// Every object that is held, and why.
    pub fn all(&self) -> impl Iterator<Item = (&Uid, Held)> {
        self.held.iter().map(|(uid, held)| (uid, *held))
    }

    /// Objects that are held for this.
    pub fn held_for(&self, why: Held) -> impl Iterator<Item = &Uid> {
        self.held.iter().filter(move |(_, held)| **held == why).map(|(uid, _)| uid)
    }

    /// Whether an object is held for this; asked at each turn, so that nobody is looked at for it.
    #[must_use]
    pub fn holds_any_for(&self, why: Held) -> bool {
        self.counts.get(&why).is_some_and(|count| *count > 0)
    }

    fn change(&self, why: Option<Held>, by: i64) {
        if let Some(why) = why.filter(|why| why.is_noteworthy()) {
            let labels = HeldLabels { target: self.target.clone(), why: why.as_str() };
            self.metrics.held.get_or_create(&labels).inc_by(by);
        }
    }
}

impl Drop for HeldCounts {
    fn drop(&mut self) {
        for why in self.held.values() {
            self.change(Some(*why), -1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gauge_follows_each_object_and_forgets_the_target() {
        let metrics = Metrics::default();
        let gauge = |why: Held| {
            let labels = HeldLabels { target: "t".to_owned(), why: why.as_str() };
            metrics.held.get_or_create(&labels).get()
        };
        let mut held_counts = HeldCounts::new("t", metrics.clone());
        let uid = Uid::from("u");
        assert_eq!(held_counts.set(&uid, Some(Held::Paused)), None);
        assert_eq!(held_counts.set(&uid, Some(Held::Paused)), Some(Held::Paused));
        assert_eq!(gauge(Held::Paused), 1);
        assert_eq!(held_counts.set(&uid, Some(Held::BreakerOpen)), Some(Held::Paused));
        assert_eq!((gauge(Held::Paused), gauge(Held::BreakerOpen)), (0, 1));
        assert!(held_counts.holds_any_for(Held::BreakerOpen) && !held_counts.holds_any_for(Held::Paused));
        drop(held_counts);
        assert_eq!(gauge(Held::BreakerOpen), 0);
    }
}
