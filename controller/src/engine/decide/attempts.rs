//! The limit of corrections in a row that heal nothing.
//!
//! From then on one try an hour is made, or one at once when somebody asks for it on the object. A correction whose outcome is open
//! is no try that healed nothing, so its retry is never held here.

use drift_api::mutants::{Mutant, is_planted};
use drift_api::timing::moment::Moment;

use crate::engine::correction_limits::RETRY_EVERY;
use crate::engine::memory::ObjectMemory;

/// The answer to "is one more try due?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempts {
    /// There are attempts left, or the retry of one in doubt is due.
    Left,
    /// None is left, but the hour is over or somebody asked for one more.
    OneMore,
    /// None is left until then.
    Exhausted {
        /// The time at which the next try is due.
        until: Moment,
    },
}

/// Judges by `unhealed` corrections in a row against the target's `allowed`.
#[must_use]
pub fn judge(memory: &ObjectMemory, unhealed: u32, allowed: u32, retry: Option<&str>, now: Moment) -> Attempts {
    if unhealed < allowed || memory.delay.is_in_doubt() || is_planted(Mutant::EndlessAttempts) {
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
