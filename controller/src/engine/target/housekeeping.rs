//! Work on all objects of a target at once: the attestation, the breaker, and Secrets.

use std::collections::HashSet;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_language::TargetState;

use super::Target;
use crate::engine::corrections::Held;
use crate::engine::effect::Report;
use crate::engine::now::Now;
use crate::engine::shared_state::SharedState;

/// Interval of housekeeping, which detects changes without an input, such as an expired attestation.
pub(super) const HOUSEKEEPING: Duration = Duration::from_secs(5);

/// Interval of checks for a changed Secret while a correction waits for one. A person who fixes a Secret
/// watches the result.
const LOOK_AT_SECRETS: Duration = Duration::from_secs(1);

/// Times of the periodic work.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// Time of the next housekeeping.
    pub(super) housekeeping: Moment,
    /// Time of the next check of Secrets, if an object waits for one.
    secrets: Moment,
}

impl<P: SharedState> Target<P> {
    pub(super) fn attend_breaker(&mut self, now: Moment) {
        let Some(transition) = self.objects.evaluate_breaker(now) else { return };
        self.report(Report::Breaker(transition));
        self.report(Report::BreakerOpen(self.objects.breaker_is_open()));
        self.report_holds();
        self.reconsider_all();
    }

    pub(super) fn reconsider_all(&mut self) {
        let uids: Vec<Uid> = self.objects.uids().cloned().collect();
        self.add_all(&uids);
    }

    /// Decides on every object again if the ConfigMaps give the target another state.
    pub(super) fn take_state(&mut self, state: TargetState) {
        if self.state != state {
            self.state = state;
            self.reconsider_all();
        }
    }

    pub(super) fn reconsider_held(&mut self, why: Held) {
        let held: Vec<Uid> = self.held.held_for(why).cloned().collect();
        self.add_all(&held);
    }

    /// Decides on every object again if the poller's attestation appears, disappears, or excludes other
    /// objects than before.
    pub(super) fn note_attestation(&mut self, now: Moment) {
        let attestation = self.program.attestation(now);
        if attestation != self.attestation {
            self.attestation = attestation.clone();
            self.report(Report::Attestation(attestation));
            self.reconsider_all();
        }
    }

    /// Takes in a change of the target's Secrets. Objects that lacked a Secret are retried. Objects with write-only
    /// fields are decided on again, because a field may have changed. So are objects whose approval is for one version.
    fn note_secrets(&mut self) {
        let change = self.program.take_secret_change();
        if change.is_none() {
            return;
        }
        let waited = self.objects.send_anew(|object| change.concerns(object));
        self.add_all(&waited);
        if !self.text.compare.write_only.is_empty() || self.approves_secrets() {
            let is_concerned = |uid: &&Uid| self.objects.object(uid).is_some_and(|object| change.concerns(object));
            let concerned: Vec<Uid> = self.objects.uids().filter(is_concerned).cloned().collect();
            self.add_all(&concerned);
        }
    }

    /// Returns the next check of Secrets besides housekeeping; `None` while no object waits for one.
    pub(super) fn next_look_at_secrets(&self) -> Option<Moment> {
        self.held.holds_any_for(Held::Unsendable).then_some(self.schedule.secrets)
    }

    /// Reports at each housekeeping and not at each change, because the age grows by itself.
    fn report_deletions(&mut self, wall: Duration) {
        let waiting: HashSet<&Uid> = self.held.held_for(Held::OutsideDeletionWindow).collect();
        waiting.iter().for_each(|uid| self.deletions.wait_for_window(uid, HOUSEKEEPING));
        let (count, oldest) = (self.deletions.count(), self.deletions.oldest_age(wall, |uid| waiting.contains(uid)));
        self.report(Report::Deletions { count, oldest });
    }

    pub(super) fn housekeep_if_due(&mut self, now: Now) {
        if now.moment >= self.schedule.housekeeping {
            self.schedule.housekeeping = now.moment + HOUSEKEEPING;
            self.housekeep(now);
        }
        if self.next_look_at_secrets().is_some_and(|due| now.moment >= due) {
            self.schedule.secrets = now.moment + LOOK_AT_SECRETS;
            self.note_secrets();
        }
    }

    fn housekeep(&mut self, now: Now) {
        self.report_deletions(now.wall);
        self.report_scope_wait(now.moment);
        self.report_holds();
        self.note_attestation(now.moment);
        self.note_secrets();
        // The attestation may have disappeared and returned between two checks.
        if self.attestation.is_some() {
            self.reconsider_held(Held::NotAttested);
        }
    }
}
