//! How often a write that another writer keeps overtaking is tried again.
//!
//! A few tries in a row win against most writers; one that is as fast as the API server would otherwise be answered
//! with as many refused writes as it makes itself. This file must not know what is written.

use std::time::Duration;

/// Races lost in a row before the next try waits: another writer that is this fast will be as fast the next time.
pub const AT_ONCE: u32 = 5;
/// The wait after the first such row; it doubles with each next one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest wait: what we have to say stands within a minute of the other's rest.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The pause after so many races lost in a row.
#[must_use]
pub fn pause(lost: u32) -> Duration {
    if lost == 0 || !lost.is_multiple_of(AT_ONCE) {
        return Duration::ZERO;
    }
    let rows = lost / AT_ONCE;
    FIRST_PAUSE.saturating_mul(1_u32.checked_shl(rows - 1).unwrap_or(u32::MAX)).min(MAX_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fifth_lost_race_is_followed_by_a_longer_pause() {
        let seconds: Vec<u64> = (0..=40).map(|lost| pause(lost).as_secs()).collect();
        let paused: Vec<u64> = seconds.iter().copied().filter(|seconds| *seconds > 0).collect();
        assert_eq!(paused, [1, 2, 4, 8, 16, 30, 30, 30]);
        assert_eq!(&seconds[..11], [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2]);
        assert_eq!(pause(u32::MAX), MAX_PAUSE);
    }
}
