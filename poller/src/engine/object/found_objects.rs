//! Count of the objects of one target and account whose resource was found before, by the result of their last poll.
//!
//! Kept up to date by differences, so that a judgement costs the same for any number of objects.

use drift_api::timing::moment::Moment;

use crate::engine::judgement::total_loss::OtherObjects;

/// Standing of an object among those whose resource was found before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// The object does not count: its resource was never found, its absence needed no request, nothing is polled, or
    /// the resource was deleted for a replacement.
    #[default]
    Uncounted,
    /// This process has not polled the object yet.
    Unpolled,
    /// The last poll found the resource.
    Present,
    /// The last poll found nothing.
    Absent,
    /// The last poll failed.
    Failed,
}

/// The objects of one target and account whose resource was found before.
#[derive(Debug, Default)]
pub struct FoundObjects {
    count: usize,
    present: usize,
    unpolled: usize,
    last_found: Option<Moment>,
}

impl FoundObjects {
    /// Changes the standing of one object.
    pub fn change(&mut self, before: Standing, after: Standing) {
        if before == after {
            return;
        }
        if let Some(count) = self.count_of(before) {
            *count = count.saturating_sub(1);
        }
        self.count = self.count.saturating_sub(usize::from(before != Standing::Uncounted));
        if let Some(count) = self.count_of(after) {
            *count += 1;
        }
        self.count += usize::from(after != Standing::Uncounted);
    }

    fn count_of(&mut self, standing: Standing) -> Option<&mut usize> {
        match standing {
            Standing::Present => Some(&mut self.present),
            Standing::Unpolled => Some(&mut self.unpolled),
            Standing::Uncounted | Standing::Absent | Standing::Failed => None,
        }
    }

    /// Records a poll that found a resource. Returns true if no other resource is known to be there, so that objects may
    /// wait for it.
    pub fn note_found(&mut self, began: Moment) -> bool {
        self.last_found = self.last_found.max(Some(began));
        self.present == 0
    }

    /// Returns the objects without the one with this standing.
    #[must_use]
    pub fn without(&self, own: Standing) -> OtherObjects {
        OtherObjects {
            count: self.count.saturating_sub(usize::from(own != Standing::Uncounted)),
            present: self.present.saturating_sub(usize::from(own == Standing::Present)),
            unpolled: self.unpolled.saturating_sub(usize::from(own == Standing::Unpolled)),
            last_found: self.last_found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Standing::{Absent, Failed, Present, Uncounted, Unpolled};
    use std::time::Duration;

    #[test]
    fn every_change_is_counted_once() {
        let mut found = FoundObjects::default();
        for (before, after, own, expected) in [
            (Uncounted, Unpolled, Uncounted, (1, 0, 1)),
            (Uncounted, Unpolled, Unpolled, (1, 0, 1)),
            (Unpolled, Present, Uncounted, (2, 1, 1)),
            (Unpolled, Absent, Absent, (1, 1, 0)),
            (Absent, Absent, Absent, (1, 1, 0)),
            (Present, Failed, Uncounted, (2, 0, 0)),
            (Failed, Present, Present, (1, 0, 0)),
            (Absent, Uncounted, Uncounted, (1, 1, 0)),
            (Present, Uncounted, Uncounted, (0, 0, 0)),
        ] {
            found.change(before, after);
            let others = found.without(own);
            assert_eq!((others.count, others.present, others.unpolled), expected, "{before:?} to {after:?}");
        }
    }

    #[test]
    fn the_last_found_resource_is_kept() {
        let (mut found, at) = (FoundObjects::default(), |seconds| Moment::from_start(Duration::from_secs(seconds)));
        assert!(found.note_found(at(2)));
        found.change(Uncounted, Present);
        assert!(!found.note_found(at(1)));
        assert_eq!(found.without(Absent).last_found, Some(at(2)));
    }
}
