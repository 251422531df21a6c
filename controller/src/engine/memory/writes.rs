//! Delay of the next write to one object.
//!
//! After a refused or overtaken write, changes of the object do not trigger a new try at once. If another writer undoes
//! our writes, we do not answer at its speed.

use std::time::Duration;

use drift_api::{Backoff, Moment, Series, TokenBucket};

/// Burst of writes outside of corrections, such as restoring a lost status or the finalizer. Equal to the poller's
/// burst for its condition.
const REPAIRS_AT_ONCE: u32 = 6;

/// Refill interval after the burst: a war with another writer heals nothing.
const REPAIR_EVERY: Duration = Duration::from_secs(60);

/// A race counts as over if this long after its delay no other race was lost. The next race then begins without delay.
/// Equal to [`REPAIR_EVERY`], because a race has the same cause.
const RACE_PAST_AFTER: Duration = Duration::from_secs(60);

/// Delays for the writes to one object. Boxed: few objects have refused, overtaken or repairing writes.
#[derive(Clone, Debug, Default)]
pub struct WritePace {
    counted: Option<Box<Counted>>,
}

#[derive(Clone, Debug)]
struct Counted {
    repairs: TokenBucket,
    status_refusals: Backoff,
    finalizer_refusals: Backoff,
    races: Backoff,
}

impl Counted {
    const fn new(now: Moment) -> Self {
        Self {
            repairs: TokenBucket::full(REPAIRS_AT_ONCE, REPAIR_EVERY, now),
            status_refusals: Backoff::new(Series::WRITE_REFUSED),
            finalizer_refusals: Backoff::new(Series::WRITE_REFUSED),
            races: Backoff::new(Series::RACE_LOST),
        }
    }

    fn is_past(&self, now: Moment) -> bool {
        // A refusal is kept until a write succeeds, because only the first in a row is reported.
        let refusals = [&self.status_refusals, &self.finalizer_refusals];
        let are_races_past = self.races.failures() == 0 || self.races.ready_at() + RACE_PAST_AFTER <= now;
        self.repairs.is_full(now) && are_races_past && refusals.into_iter().all(|backoff| backoff.failures() == 0)
    }
}

impl WritePace {
    fn counted(&mut self, now: Moment) -> &mut Counted {
        self.counted.get_or_insert_with(|| Box::new(Counted::new(now)))
    }

    /// Drops records that are too old to cause a delay.
    pub fn give_room_back(&mut self, now: Moment) {
        self.counted.take_if(|counted| counted.is_past(now));
    }

    /// Records a successful status write.
    pub fn land_status(&mut self) {
        if let Some(counted) = &mut self.counted {
            counted.status_refusals.reset();
            counted.races.reset();
        }
    }

    /// Records a successful write that only added or removed the finalizer.
    pub fn land_finalizer(&mut self, now: Moment) {
        let counted = self.counted(now);
        counted.finalizer_refusals.reset();
        counted.races.reset();
        self.count_repair(now);
    }

    /// Counts a successful write outside of corrections.
    pub fn count_repair(&mut self, now: Moment) {
        // Without a token, the write was decided before the last one succeeded. The next one waits.
        let _ = self.counted(now).repairs.take(now);
    }

    /// Records a refused status write. Returns true for the first in a row, which is reported.
    pub fn refuse_status(&mut self, now: Moment) -> bool {
        let refusals = &mut self.counted(now).status_refusals;
        refusals.fail(now);
        refusals.failures() == 1
    }

    /// Records a refused write of the finalizer alone. Returns true for the first in a row, which is reported.
    pub fn refuse_finalizer(&mut self, now: Moment) -> bool {
        let refusals = &mut self.counted(now).finalizer_refusals;
        refusals.fail(now);
        refusals.failures() == 1
    }

    /// Records that another writer was faster, or that the API server did not respond.
    pub fn lose_race(&mut self, now: Moment) {
        self.counted(now).races.fail(now);
    }

    /// Returns the earliest next status write after refusals.
    #[must_use]
    pub fn status_ready_at(&self) -> Moment {
        self.counted.as_ref().map_or(Moment::START, |counted| counted.status_refusals.ready_at())
    }

    /// Returns the earliest next write of the finalizer alone after refusals.
    #[must_use]
    pub fn finalizer_ready_at(&self) -> Moment {
        self.counted.as_ref().map_or(Moment::START, |counted| counted.finalizer_refusals.ready_at())
    }

    /// Returns the earliest next write of any kind after lost races.
    #[must_use]
    pub fn races_ready_at(&self) -> Moment {
        self.counted.as_ref().map_or(Moment::START, |counted| counted.races.ready_at())
    }

    /// Returns the earliest next write outside of corrections.
    #[must_use]
    pub fn repair_ready_at(&self, now: Moment) -> Moment {
        self.counted.as_ref().map_or(now, |counted| counted.repairs.available_at(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::at;

    #[test]
    fn only_the_first_refusal_in_a_row_is_news() {
        let mut writes = WritePace::default();
        assert!(writes.refuse_status(at(10)) && !writes.refuse_status(at(10)));
        assert_eq!((writes.status_ready_at(), writes.finalizer_ready_at()), (at(12), Moment::START));
        assert!(writes.refuse_finalizer(at(10)));
        writes.land_status();
        assert!(writes.refuse_status(at(20)) && !writes.refuse_finalizer(at(20)));
    }

    #[test]
    fn what_is_long_past_takes_no_room() {
        let mut writes = WritePace::default();
        writes.land_finalizer(at(0));
        writes.give_room_back(at(59));
        assert!(writes.counted.is_some(), "the repair still counts");
        writes.refuse_status(at(60));
        writes.give_room_back(at(600));
        assert!(writes.counted.is_some(), "the refusal still counts");
        writes.land_status();
        writes.give_room_back(at(600));
        assert!(writes.counted.is_none());
    }

    #[test]
    fn six_repairs_at_once_then_one_a_minute() {
        let mut writes = WritePace::default();
        for _ in 0..6 {
            assert_eq!(writes.repair_ready_at(at(1)), at(1));
            writes.count_repair(at(1));
        }
        assert_eq!(writes.repair_ready_at(at(1)), at(61));
    }
}
