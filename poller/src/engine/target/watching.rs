//! Objects of a target from its watch: seen, gone, or owned by another target.

use drift_api::identity::Uid;
use drift_api::object::report::SeenReport;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;

use super::Target;
use crate::engine::effect::{Effect, Report};
use crate::engine::object::object_state::ObjectState;
use crate::engine::schedule::Now;
use crate::engine::shared_state::SharedState;

impl<P: SharedState> Target<P> {
    /// Takes in an object of the watch. If a list returns an older version than the known one, the object is read live.
    pub(super) fn take_seen(&mut self, object: LeanObject, now: Now) {
        let known = self.objects.state(&object.id.uid).map(ObjectState::object);
        if let Some(known) = known.filter(|known| object.is_listed_before(known)) {
            self.effects.push(Effect::ReadAnew(Box::new(known.clone())));
            return;
        }
        self.skipped.remove(&object.id.uid);
        self.see(object, now);
    }

    /// Takes in the present report of an object.
    pub(super) fn take_reported(&mut self, uid: &Uid, report: SeenReport, now: Now) {
        match self.objects.state(uid).map(ObjectState::object).cloned() {
            Some(known) if report.needs_live_read(&known) => self.effects.push(Effect::ReadAnew(Box::new(known))),
            Some(known) => self.see(known.with_report(report), now),
            None => {}
        }
    }

    /// Takes in a live read. An object that left meanwhile stays forgotten.
    pub(super) fn take_read_anew(&mut self, live: Option<Box<LeanObject>>, now: Now) {
        if let Some(live) = live.filter(|live| self.objects.state(&live.id.uid).is_some()) {
            self.take_seen(*live, now);
        }
    }

    pub(super) fn see(&mut self, object: LeanObject, now: Now) {
        let uid = object.id.uid.clone();
        self.objects.see(object, now);
        if self.text.read.keys().is_some() {
            self.traversals.note_view(&uid);
        }
        self.hints.note_object(&mut self.objects, &uid, now.moment);
    }

    pub(super) fn leave(&mut self, uid: &Uid) {
        self.skipped.remove(uid);
        self.forget(uid);
    }

    /// Skips an object that another target owns (the first by name wins).
    pub(super) fn skip(&mut self, object: &ObjectId) {
        self.forget(&object.uid);
        self.skipped.insert(object.uid.clone());
        self.report(Report::ClaimedTwice(object.clone()));
    }

    pub(super) fn note_listed(&mut self, now: Moment) {
        self.objects.note_listed(now);
        self.hints.note_listed(&mut self.objects, now);
    }

    pub(super) fn forget(&mut self, uid: &Uid) {
        self.objects.forget(uid);
        self.traversals.forget(uid);
        self.hints.forget(uid);
    }
}
