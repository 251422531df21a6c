//! Detects verdicts that may not be the poller's newest: older than one already seen, or with a time in the future.

use std::time::Duration;

use drift_api::condition::Condition;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use super::ObjectMemory;

/// Tolerated clock lead of the poller. Clocks that are wrong by hours change nothing. A time further ahead would count
/// as the newest for longer than a day.
const CLOCKS_DIFFER_BY: Duration = Duration::from_secs(24 * 3600);

impl ObjectMemory {
    /// Holds back the current verdict if its time lies in the future. Such a time means that a clock was wrong once.
    /// Transition times never go back, so it cannot distinguish the poller's newest verdict from an older one.
    pub fn hold_verdict_ahead(&mut self, object: &LeanObject, wall: Duration, now: Moment) {
        let verdict = object.conditions.observed();
        let ahead = verdict.filter(|verdict| verdict.last_transition_time.is_ahead_of(wall, CLOCKS_DIFFER_BY));
        if let Some(verdict) = ahead {
            self.held_verdict.get_or_insert_with(|| Box::new((verdict.clone(), now)));
        }
    }

    /// Holds back a verdict that is older than one already seen: another writer has restored it.
    pub(super) fn see_verdict(&mut self, verdict: Option<&Condition>, now: Moment) {
        self.held_verdict.take_if(|held| verdict != Some(&held.0));
        let Some(verdict) = verdict else { return };
        if self.newest_verdict.is_later_than(&verdict.last_transition_time) {
            self.held_verdict.get_or_insert_with(|| Box::new((verdict.clone(), now)));
        } else {
            self.newest_verdict.clone_from(&verdict.last_transition_time);
        }
    }
}
