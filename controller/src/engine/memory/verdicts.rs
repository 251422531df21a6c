//! Verdicts that may not be the newest word of the poller: older than one that was seen, or of a time that lies in the future.

use std::time::Duration;

use drift_api::condition::Condition;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use super::ObjectMemory;

/// How far ahead of ours the clock of the poller may be. Clocks that are wrong by hours change nothing, and a time that lies further
/// ahead would otherwise count as the newest for longer than a day.
const CLOCKS_DIFFER_BY: Duration = Duration::from_secs(24 * 3600);

impl ObjectMemory {
    /// Holds the verdict that stands where its time lies in the future: a clock was wrong once, and the time never goes back. It
    /// cannot tell the poller's newest word from an older one.
    pub fn hold_verdict_ahead(&mut self, object: &LeanObject, wall: Duration, now: Moment) {
        let verdict = object.conditions.observed();
        let ahead = verdict.filter(|verdict| verdict.last_transition_time.is_ahead_of(wall, CLOCKS_DIFFER_BY));
        if let Some(verdict) = ahead {
            self.held_verdict.get_or_insert_with(|| Box::new((verdict.clone(), now)));
        }
    }

    /// A verdict that is older than one that was seen already is another writer's, who put back what it had read before.
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
