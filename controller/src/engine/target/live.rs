//! The decision on an object that was just read live, before it is acted on.

use drift_api::identity::Uid;
use drift_api::object::LeanObject;

use super::Target;
use crate::engine::correction_limits::{Place, Taken};
use crate::engine::decide::decision::Decision;
use crate::engine::effect::Report;
use crate::engine::now::Now;
use crate::engine::shared_state::SharedState;

impl<P: SharedState> Target<P> {
    /// Decides on the state that will be acted on. The watch may know a newer one than the read returned. Returns the
    /// newest state, the decision, and the place of a correction within the target's limits; `None` if there is nothing
    /// to do.
    pub(super) fn decide_live(
        &mut self,
        object: LeanObject,
        was_read: bool,
        now: Now,
    ) -> Option<(LeanObject, Decision, Option<Taken>)> {
        let uid = object.id.uid.clone();
        if let Some(place) = self.under_way.get_mut(&uid).and_then(|underway| underway.reserved.take()) {
            self.objects.usage.call_off(place);
        }
        if was_read && self.unreadable.remove(&uid) {
            self.report(Report::ReadableAgain);
        }
        // A read does not restore an object that left the selection meanwhile.
        self.objects.object(&uid)?;
        self.see(object, now);
        self.attend_breaker(now.moment);
        let decision = self.decide(&uid, now)?;
        if matches!(&decision, Decision::Correct(correction) if correction.takes_resource()) && !self.claim(&uid) {
            self.queue.add(&uid);
            return None;
        }
        let object = self.objects.object(&uid)?.clone();
        let mut begun = matches!(decision, Decision::Correct(_)).then(|| self.objects.begin(&uid, now.moment));
        let taken = begun.as_mut().and_then(Place::hand_over);
        if let Some(claimant) = self.objects.claimant(&uid).filter(|_| taken.is_some()) {
            self.program.hold(&uid, claimant);
        }
        if let Some(underway) = self.under_way.get_mut(&uid) {
            underway.begun = begun;
        }
        Some((object, decision, taken))
    }

    /// Publishes the object's claim to all other objects before it is written. Returns false if the object has no right
    /// to it any more.
    fn claim(&mut self, uid: &Uid) -> bool {
        let claimed = self.objects.claimant(uid).is_some_and(|claimant| self.program.claim(uid, claimant));
        self.objects.set_claiming(uid, claimed);
        claimed
    }
}
