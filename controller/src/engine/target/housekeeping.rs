//! The work for all objects of a target at once: the attestation, the breaker, Secrets, and what grows old unseen.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

use super::Target;
use crate::engine::corrections::held::Held;
use crate::engine::effect::Report;
use crate::engine::input::Now;
use crate::engine::shared_state::SharedState;

/// Interval of housekeeping, which notices what changes without an input, such as an attestation that grew old.
pub(super) const HOUSEKEEPING: Duration = Duration::from_secs(5);

/// Interval of looks for a changed Secret while a correction waits for one. The person who mends a Secret watches the result.
const LOOK_AT_SECRETS: Duration = Duration::from_secs(1);

/// How often the memory of the objects is searched for records that delay nothing any more, the longest of which counts
/// for an hour.
const GIVE_ROOM_BACK: Duration = Duration::from_secs(60);

/// The times of what is done regularly.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// When housekeeping is due.
    pub(super) housekeeping: Moment,
    /// When Secrets are looked at, if something waits for one.
    secrets: Moment,
    /// The time at which the memory is searched.
    room: Moment,
}

impl<P: SharedState> Target<P> {
    pub(super) fn attend_breaker(&mut self, now: Moment) {
        let Some(transition) = self.objects.evaluate_breaker(now) else { return };
        self.report(Report::Breaker(transition));
        self.report(Report::BreakerOpen(self.objects.breaker_is_open()));
        self.report_holds();
        self.reconsider_all();
    }

    pub(super) fn let_pass(&mut self) {
        if let Some(transition) = self.objects.let_pass() {
            self.report(Report::Breaker(transition));
            self.report(Report::BreakerOpen(self.objects.breaker_is_open()));
            self.report_holds();
        }
    }

    pub(super) fn reconsider_all(&mut self) {
        let uids: Vec<Uid> = self.objects.uids().cloned().collect();
        self.add_all(&uids);
    }

    pub(super) fn reconsider_held(&mut self, why: Held) {
        let held: Vec<Uid> = self.held.held_for(why).cloned().collect();
        self.add_all(&held);
    }

    /// Decides on every object again when the poller's attestation comes, goes, or excepts other objects than before.
    pub(super) fn note_attestation(&mut self, now: Moment) {
        let attestation = self.program.attestation(now);
        if attestation != self.attestation {
            self.attestation = attestation.clone();
            self.report(Report::Attestation(attestation));
            self.reconsider_all();
        }
    }

    /// Takes in a change of the target's Secrets. Objects that could not be corrected for the lack of one are tried again, and
    /// objects whose fields cannot be read back are decided on again: one of these may have changed.
    fn note_secrets(&mut self) {
        let change = self.program.take_secret_change();
        if change.is_none() {
            return;
        }
        let waited = self.objects.send_anew(|object| change.concerns(object));
        self.add_all(&waited);
        if !self.text.compare.write_only.is_empty() {
            let is_concerned = |uid: &&Uid| self.objects.object(uid).is_some_and(|object| change.concerns(object));
            let concerned: Vec<Uid> = self.objects.uids().filter(is_concerned).cloned().collect();
            self.add_all(&concerned);
        }
    }

    /// When Secrets are looked at next, besides each housekeeping; `None` while nothing waits for one.
    pub(super) fn next_look_at_secrets(&self) -> Option<Moment> {
        self.held.holds_any_for(Held::Unsendable).then_some(self.schedule.secrets)
    }

    /// At each housekeeping and not at each change: the age grows by itself.
    fn report_deletions(&mut self, wall: Duration) {
        let (count, oldest) = (self.deletions.count(), self.deletions.oldest_age(wall));
        self.report(Report::Deletions { count, oldest });
    }

    /// Not at each housekeeping: all objects are looked at.
    fn give_room_back(&mut self, now: Moment) {
        if now >= self.schedule.room {
            self.schedule.room = now + GIVE_ROOM_BACK;
            self.objects.give_room_back(now);
        }
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
        self.give_room_back(now.moment);
        self.report_deletions(now.wall);
        self.report_scope_wait(now.moment);
        self.report_holds();
        self.note_attestation(now.moment);
        self.note_secrets();
        // The attestation may have gone and come back between two looks at it.
        if self.attestation.is_some() {
            self.reconsider_held(Held::NotAttested);
        }
    }
}
