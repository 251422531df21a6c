//! Settings of a target for all its objects: the poll interval, the number of confirmations, and the time until a read
//! shows an external change.

use std::time::Duration;

use drift_api::condition::Verdict;
use drift_api::object::LeanObject;
use drift_language::{Actions, Confirm, ObjectMay, Target};

use crate::engine::schedule::Phase;

/// Up to this interval, an object's rendered request is kept between polls. Rendering takes 2 to 7 µs, and up to 10 µs
/// including the effects on the allocator and the caches: at 1,000 polls a second, a tenth of their processor time.
/// Keeping it takes 250 bytes. 100,000 objects with an interval of ten seconds would spend a tenth of a core on
/// rendering. With an interval of a minute they spend a sixtieth, and save 25 MB.
const REQUESTS_KEPT_UP_TO: Duration = Duration::from_secs(10);

/// Settings of a target for the polls of its objects.
#[derive(Debug)]
pub struct PollSettings {
    /// Time between polls.
    pub interval: Duration,
    /// The annotations that single objects may use.
    pub object_may: ObjectMay,
    /// True if polls are so frequent that their first request is kept.
    pub keeps_requests: bool,
    /// Time until a read shows a correction.
    pub settle: Duration,
    /// Time for which absence must last after a create that no poll has found.
    pub create_shows_within: Duration,
    /// True if the target corrects drift.
    pub corrects: bool,
    /// The actions of its corrections: none in mode Observe.
    pub actions: Actions,
    /// True if an edit of the object must settle like a correction, because another operator acts first.
    pub settles_edits: bool,
    /// Number of confirmations that a finding needs.
    pub confirm: Confirm,
    /// True if the conditions of `ready: true` are written with each verdict.
    pub ready: bool,
    /// Common phase of all objects, if one read covers many.
    pub shared_phase: Option<Phase>,
}

impl PollSettings {
    /// Returns the settings of this target.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let corrects = target.correct.mode.corrects();
        let actions = if corrects { target.correct.actions() } else { Actions::NONE };
        Self {
            interval: target.interval,
            object_may: target.object_may,
            keeps_requests: target.interval <= REQUESTS_KEPT_UP_TO,
            settle: target.correct.settle,
            create_shows_within: target.create_shows_within(),
            corrects,
            actions,
            settles_edits: actions.nudge,
            confirm: target.confirm,
            ready: target.ready,
            shared_phase: target.read.keys().map(|_| Phase::of(&target.name, target.interval)),
        }
    }

    /// Returns the times of an object's regular polls.
    #[must_use]
    pub fn phase_of(&self, object: &LeanObject) -> Phase {
        let of_object = || Phase::of(&object.id.uid, self.object_may.interval_of(object, self.interval));
        self.shared_phase.unwrap_or_else(of_object)
    }

    /// Returns true if the target has an action against the drift of this verdict.
    #[must_use]
    pub const fn has_action_for(&self, verdict: &Verdict) -> bool {
        self.actions.has(self.actions.against(verdict.reason, verdict.tag.replace))
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
