//! The two limits of a target's corrections: how many at once, and how many begun in a minute.
//!
//! Deletions count like corrections: to the external system they are the same load. This file must not know which
//! object waits for what.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use drift_model::moment::Moment;
use drift_target::CorrectLimits;

/// The span that `perMinute` speaks of.
const MINUTE: Duration = Duration::from_secs(60);

/// Whether one more correction may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It may.
    Free,
    /// Only after one that is under way ends.
    AfterAnEnd,
    /// Only from then on.
    From(Moment),
}

/// What of a target's limits is used up.
#[derive(Debug, Default)]
pub struct Pace {
    begun: VecDeque<Moment>,
    /// Every place that is taken holds one more reference.
    places: Arc<()>,
}

/// A correction that begins: the place that it takes, and when it began.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub struct Place {
    begun: Moment,
    taken: Option<Taken>,
}

/// A correction is under way while this lives, also when it outlives the text of the target that began it.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub struct Taken {
    _reference: Arc<()>,
}

impl Place {
    /// Hands the place over to whoever does the correction; it is free once that one drops it.
    pub fn hand_over(&mut self) -> Option<Taken> {
        self.taken.take()
    }
}

impl Pace {
    /// Whether the limits allow one more now.
    #[must_use]
    pub fn room(&self, limits: &CorrectLimits, now: Moment) -> Room {
        if self.under_way() >= limits.concurrent as usize {
            return Room::AfterAnEnd;
        }
        let recent = self.begun.iter().filter(|begun| !now.is_past(**begun, MINUTE)).count();
        let over = recent.checked_sub(limits.per_minute as usize);
        let blocking = over.and_then(|over| self.begun.get(self.begun.len() - recent + over));
        blocking.map_or(Room::Free, |begun| Room::From(*begun + MINUTE))
    }

    /// A correction begins.
    pub fn begin(&mut self, now: Moment) -> Place {
        while self.begun.front().is_some_and(|begun| now.is_past(*begun, MINUTE)) {
            self.begun.pop_front();
        }
        self.begun.push_back(now);
        Place { begun: now, taken: Some(Taken { _reference: self.places.clone() }) }
    }

    /// The one in this place was called off before anything was sent: it did not begin.
    pub fn call_off(&mut self, place: Place) {
        if let Some(index) = self.begun.iter().rposition(|begun| *begun == place.begun) {
            self.begun.remove(index);
        }
    }

    fn under_way(&self) -> usize {
        Arc::strong_count(&self.places) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CorrectLimits = CorrectLimits { concurrent: 2, per_minute: 3, max_drifted_percent: 20, attempts: 10 };

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    #[test]
    fn no_more_than_concurrent_are_under_way() {
        let mut pace = Pace::default();
        let first = pace.begin(at(0));
        assert_eq!(pace.room(&LIMITS, at(0)), Room::Free);
        let _second = pace.begin(at(0));
        assert_eq!(pace.room(&LIMITS, at(0)), Room::AfterAnEnd);
        drop(first);
        assert_eq!(pace.room(&LIMITS, at(0)), Room::Free);
    }

    #[test]
    fn a_place_handed_over_is_free_in_the_end() {
        let limits = CorrectLimits { concurrent: 1, ..LIMITS };
        let mut pace = Pace::default();
        let mut place = pace.begin(at(0));
        let taken = place.hand_over();
        assert_eq!(pace.room(&limits, at(0)), Room::AfterAnEnd);
        drop(taken);
        assert_eq!(pace.room(&limits, at(0)), Room::Free, "while its outcome is still being noted");
        pace.call_off(place);
    }

    #[test]
    fn no_more_than_per_minute_begin_in_any_minute() {
        let mut pace = Pace::default();
        for second in [0, 10, 20] {
            assert_eq!(pace.room(&LIMITS, at(second)), Room::Free);
            drop(pace.begin(at(second)));
        }
        assert_eq!(pace.room(&LIMITS, at(30)), Room::From(at(60)));
        assert_eq!(pace.room(&LIMITS, at(60)), Room::Free);
        drop(pace.begin(at(60)));
        assert_eq!(pace.room(&LIMITS, at(61)), Room::From(at(70)));
        let none = CorrectLimits { per_minute: 1, ..LIMITS };
        assert_eq!(pace.room(&none, at(61)), Room::From(at(120)));
    }

    #[test]
    fn who_is_called_off_gives_its_beginning_back() {
        let mut pace = Pace::default();
        let first = pace.begin(at(0));
        drop(pace.begin(at(10)));
        pace.call_off(first);
        drop(pace.begin(at(20)));
        drop(pace.begin(at(30)));
        assert_eq!(pace.room(&LIMITS, at(40)), Room::From(at(70)));
    }
}
