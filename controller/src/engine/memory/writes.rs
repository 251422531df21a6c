//! Delay of the next write to one object.
//!
//! After a refused or overtaken write, changes of the object do not trigger a new try at once. If another writer undoes
//! our writes, we do not answer at its speed.

use std::time::Duration;

use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;
use drift_api::timing::quiet_budget::QuietBudget;

/// A race counts as over if this long after its delay no other race was lost. The next race then begins without delay.
const RACE_PAST_AFTER: Duration = Duration::from_secs(60);

/// Delays for the writes to one object.
#[derive(Clone, Debug)]
pub struct WritePace {
    /// Budget for writes outside of corrections, such as restoring a lost status or the finalizer.
    repairs: QuietBudget,
    status_refusals: Backoff,
    finalizer_refusals: Backoff,
    races: Backoff,
}

impl Default for WritePace {
    fn default() -> Self {
        Self {
            repairs: QuietBudget::default(),
            status_refusals: Backoff::new(Series::WRITE_REFUSED),
            finalizer_refusals: Backoff::new(Series::WRITE_REFUSED),
            races: Backoff::new(Series::RACE_LOST),
        }
    }
}

impl WritePace {
    /// Records a successful status write.
    pub fn land_status(&mut self) {
        self.status_refusals.reset();
        self.races.reset();
    }

    /// Records a successful write that only added or removed the finalizer.
    pub fn land_finalizer(&mut self, now: Moment) {
        self.finalizer_refusals.reset();
        self.races.reset();
        self.count_repair(now);
    }

    /// Counts a successful write outside of corrections.
    pub fn count_repair(&mut self, now: Moment) {
        self.repairs.spend(now);
    }

    /// Records a refused status write. Returns true for the first in a row, which is reported.
    pub fn refuse_status(&mut self, now: Moment) -> bool {
        self.status_refusals.fail(now);
        self.status_refusals.failures() == 1
    }

    /// Records a refused write of the finalizer alone. Returns true for the first in a row, which is reported.
    pub fn refuse_finalizer(&mut self, now: Moment) -> bool {
        self.finalizer_refusals.fail(now);
        self.finalizer_refusals.failures() == 1
    }

    /// Records that another writer was faster, or that the API server did not respond.
    pub fn lose_race(&mut self, now: Moment) {
        if self.races.failures() > 0 && self.races.ready_at() + RACE_PAST_AFTER <= now {
            self.races.reset();
        }
        self.races.fail(now);
    }

    /// Returns the earliest next status write after refusals.
    #[must_use]
    pub fn status_ready_at(&self) -> Moment {
        self.status_refusals.ready_at()
    }

    /// Returns the earliest next write of the finalizer alone after refusals.
    #[must_use]
    pub fn finalizer_ready_at(&self) -> Moment {
        self.finalizer_refusals.ready_at()
    }

    /// Returns the earliest next write of any kind after lost races.
    #[must_use]
    pub fn races_ready_at(&self) -> Moment {
        self.races.ready_at()
    }

    /// Returns the earliest next write outside of corrections.
    #[must_use]
    pub fn repair_ready_at(&self, now: Moment) -> Moment {
        self.repairs.available_at(now)
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
    fn a_race_long_past_delays_no_later_one() {
        let mut writes = WritePace::default();
        (0..5).for_each(|_| writes.lose_race(at(0)));
        assert_eq!(writes.races_ready_at(), at(1));
        writes.lose_race(at(60));
        assert_eq!(writes.races_ready_at(), at(62), "still the same race");
        writes.lose_race(at(122));
        assert_eq!(writes.races_ready_at(), at(122));
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
