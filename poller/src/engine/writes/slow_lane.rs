//! The slow lane: writes about an outage, spread over time for the whole program.
//!
//! When a host fails, thousands of objects become Unknown at once. No program acts on that, so these writes are limited
//! to a rate that leaves the API server to other calls.

use std::collections::BTreeSet;
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// One write every 20 ms is 50 a second, a twelfth of the capacity of a small API server (about 600 status
/// patches a second).
pub const SPACING: Duration = Duration::from_millis(20);

/// Hands out times in sequence. Released times are reused first, so that an unstable host cannot fill the lane with
/// unneeded writes and delay those of another host.
#[derive(Debug, Default)]
pub struct SlowLane {
    next: Moment,
    given_back: BTreeSet<Moment>,
}

impl SlowLane {
    /// Reserves the time of the next write.
    pub fn reserve(&mut self, now: Moment) -> Moment {
        self.given_back = self.given_back.split_off(&now);
        if let Some(slot) = self.given_back.pop_first() {
            return slot;
        }
        let slot = self.next.max(now);
        self.next = slot + SPACING;
        slot
    }

    /// Releases a reserved time. A past one is dropped.
    pub fn give_back(&mut self, slot: Moment) {
        self.given_back.insert(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_spread_to_fifty_a_second() {
        let mut lane = SlowLane::default();
        let now = Moment::from_start(Duration::from_secs(10));
        let slots: Vec<_> = (0..101).map(|_| lane.reserve(now)).collect();
        assert_eq!(slots[0], now);
        assert_eq!(slots[100] - now, Duration::from_secs(2));
        assert_eq!(lane.reserve(now + Duration::from_secs(60)), now + Duration::from_secs(60));
    }

    #[test]
    fn a_host_that_flaps_does_not_keep_another_waiting() {
        let mut lane = SlowLane::default();
        for second in (0..60).step_by(3) {
            let now = Moment::from_start(Duration::from_secs(second));
            let slots: Vec<_> = (0..500).map(|_| lane.reserve(now)).collect();
            slots.into_iter().filter(|slot| *slot > now).for_each(|slot| lane.give_back(slot));
        }
        let now = Moment::from_start(Duration::from_secs(60));
        assert!(lane.reserve(now) - now <= SPACING);
        let slots: BTreeSet<_> = (0..1000).map(|_| lane.reserve(now)).collect();
        assert_eq!(slots.len(), 1000, "no moment is given out twice");
        assert!(slots.iter().zip(slots.iter().skip(1)).all(|(one, next)| *next - *one >= SPACING));
    }
}
