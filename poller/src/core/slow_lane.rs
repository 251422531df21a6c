//! The slow lane: writes that tell of an outage, spread over time for the whole program.
//!
//! When a host fails, thousands of objects become Unknown at once. Nobody acts on that, so the API server gets
//! these writes at a rate that leaves it to others. It must not know whose write it is.

use std::time::Duration;

use drift_shared::moment::Moment;

/// One write every 20 ms is 50 a second, a twelfth of what a small API server takes (about 600 status patches a second).
pub const SPACING: Duration = Duration::from_millis(20);

/// Hands out moments, one after the other.
#[derive(Debug, Default)]
pub struct SlowLane {
    next: Moment,
}

impl SlowLane {
    /// The moment at which this write may go. Whoever needs it no longer lets it pass.
    pub fn reserve(&mut self, now: Moment) -> Moment {
        let slot = self.next.max(now);
        self.next = slot + SPACING;
        slot
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
}
