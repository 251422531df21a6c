//! The settings of a target that hold for all its objects: how often they are polled, how often a finding must repeat, and how
//! long what was changed outside takes until a read shows it.

use std::time::Duration;

use drift_language::{Confirm, Mode, Target};

use crate::engine::schedule::Phase;

/// Up to this interval an object's request is kept from one poll to the next, and beyond it rendered anew. To render it takes 2 to 7 µs
/// by itself, and up to 10 µs with what it does to the allocator and the caches: at 1,000 polls a second a tenth of their processor time.
/// To keep it takes 250 bytes. 100,000 objects that are polled every ten seconds would spend a tenth of a core on it; those that are
/// polled once a minute spend a sixtieth, and save 25 MB.
const REQUESTS_KEPT_UP_TO: Duration = Duration::from_secs(10);

/// The settings of a target for the polls of its objects.
#[derive(Debug)]
pub struct PollSettings {
    /// Time between polls.
    pub interval: Duration,
    /// True if polls are so frequent that what they begin with is kept.
    pub keeps_requests: bool,
    /// The time that a correction needs until a read shows it.
    pub settle: Duration,
    /// True if corrections are made where drift stands.
    pub corrects: bool,
    /// True if an edit of the object has to settle as a correction has: another operator has its turn then.
    pub settles_edits: bool,
    /// The confirmations that a finding needs.
    pub confirm: Confirm,
    /// The common phase of all objects, if one read answers for many.
    pub shared_phase: Option<Phase>,
}

impl PollSettings {
    /// The settings of this target.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let corrects = target.correct.mode == Mode::Correct;
        Self {
            interval: target.interval,
            keeps_requests: target.interval <= REQUESTS_KEPT_UP_TO,
            settle: target.correct.settle,
            corrects,
            settles_edits: corrects && target.correct.actions().nudge,
            confirm: target.confirm,
            shared_phase: target.read.keys().map(|_| Phase::of(&target.name, target.interval)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{TEXT, target};

    #[test]
    fn requests_are_kept_where_polls_are_frequent() {
        for (interval, keeps) in [("1s", true), ("10s", true), ("11s", false), ("5m", false)] {
            let target = target(&TEXT.replace("interval: 30s", &format!("interval: {interval}")));
            assert_eq!(PollSettings::of(&target).keeps_requests, keeps, "{interval}");
        }
    }
}
