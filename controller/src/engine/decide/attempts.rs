//! Limit of consecutive corrections that heal nothing.
//!
//! Once it is reached, one try is made each hour, or at once on a retry request. A correction with an open outcome does
//! not count, so its retry is never blocked here.

use drift_api::timing::moment::Moment;

use crate::engine::correction_limits::RETRY_EVERY;
use crate::engine::memory::ObjectMemory;

/// Answer to "is one more try due?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// Attempts are left, or the retry of a correction in doubt is due.
    Left,
    /// No attempts are left, but the hour is over or a retry was requested.
    OneMore,
    /// No attempts are left until the next try.
    Exhausted {
        /// Time of the next try.
        until: Moment,
    },
}

/// Compares `unhealed` consecutive corrections with the target's `allowed` attempts.
#[must_use]
pub fn judge(memory: &ObjectMemory, unhealed: u32, allowed: u32, retry: Option<&str>, now: Moment) -> Attempts {
    if unhealed < allowed || memory.delay.is_in_doubt() {
        return Attempts::Left;
    }
    let until = memory.delay.last_begun() + RETRY_EVERY;
    if now >= until || memory.retry_is_requested(retry) { Attempts::OneMore } else { Attempts::Exhausted { until } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::corrections::claim::Action;
    use crate::engine::corrections::outcome::{Doubt, Outcome};
    use crate::engine::fixtures::{correction, doubtful};
    use std::time::Duration;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    #[test]
    fn after_the_allowed_attempts_one_try_an_hour_is_made() {
        let mut memory = ObjectMemory::new(at(100), None);
        assert_eq!(judge(&memory, 9, 10, None, at(100)), Attempts::Left);
        assert_eq!(judge(&memory, 10, 10, None, at(100)), Attempts::Exhausted { until: at(3700) });
        memory.begin(at(200), None);
        assert_eq!(judge(&memory, 10, 10, None, at(3799)), Attempts::Exhausted { until: at(3800) });
        assert_eq!(judge(&memory, 11, 10, None, at(3800)), Attempts::OneMore);
    }

    #[test]
    fn a_retry_request_is_answered_once() {
        let mut memory = ObjectMemory::new(at(0), Some("monday"));
        assert_eq!(judge(&memory, 10, 10, Some("monday"), at(1)), Attempts::Exhausted { until: at(3600) });
        assert_eq!(judge(&memory, 10, 10, Some("tuesday"), at(1)), Attempts::OneMore);
        memory.begin(at(1), Some("tuesday"));
        memory.finish(&correction(Action::Update), &Outcome::Applied, at(1));
        assert_eq!(judge(&memory, 11, 10, Some("tuesday"), at(2)), Attempts::Exhausted { until: at(3601) });
    }

    #[test]
    fn a_correction_in_doubt_is_never_exhausted() {
        let mut memory = ObjectMemory::new(at(0), None);
        memory.begin(at(0), None);
        memory.finish(&correction(Action::Update), &doubtful(Doubt::NoAnswer), at(0));
        assert_eq!(judge(&memory, 10, 10, None, at(1)), Attempts::Left);
    }
}
