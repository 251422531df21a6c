//! How long an object waits between two corrections.
//!
//! The first two corrections run at once, then the pause triples: an ineffective correction and a war with another
//! writer both end in one try every five minutes. This file must not know what a correction is.

use std::time::Duration;

/// Seconds to wait before a correction, by how many went before it; the last one holds for all that follow.
const SERIES: [u64; 8] = [0, 0, 2, 6, 18, 54, 162, 300];

/// Corrections of an object count towards its delay for this long: twice the longest delay, so that a war that
/// slowed down to the longest delay is still seen as one.
pub const WINDOW: Duration = Duration::from_secs(600);

/// So many corrections for specs that the object had before count at the most, which makes 18 seconds: an edit is no war,
/// and whoever makes it waits for it. Without any pause an object that somebody edits without end would use up the
/// corrections that its target may make in a minute, and the others would wait.
pub const MOST_FOR_FORMER_SPECS: u32 = 4;

/// The pause before the next correction after `corrections` that went before.
#[must_use]
pub fn pause(corrections: usize) -> Duration {
    let last = SERIES.len() - 1;
    Duration::from_secs(SERIES.get(corrections.min(last)).copied().unwrap_or(SERIES[last]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_follows_the_documented_series() {
        let seconds: Vec<u64> = (0..10).map(|corrections| pause(corrections).as_secs()).collect();
        assert_eq!(seconds, [0, 0, 2, 6, 18, 54, 162, 300, 300, 300]);
        assert_eq!(pause(usize::MAX).as_secs(), 300);
    }
}
