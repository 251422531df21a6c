//! Inputs from the watch of the target's objects.

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::report::SeenReport;

use super::Target;
use crate::engine::corrections::Held;
use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::effect::{Effect, Report};
use crate::engine::memory::ObjectMemory;
use crate::engine::now::Now;
use crate::engine::objects::claimant::claimant_of;
use crate::engine::shared_state::SharedState;

impl<P: SharedState> Target<P> {
    pub(super) fn take_seen(&mut self, object: LeanObject, now: Now) {
        let uid = object.id.uid.clone();
        // A list delivers an older version than the known one. Only a live read shows which one is current.
        if let Some(known) = self.objects.object(&uid).filter(|known| object.is_listed_before(known)) {
            return self.effects.push(Effect::ReadAnew(Box::new(known.clone())));
        }
        // A target that only observes acts on an object only to remove a finalizer from a previous version of the
        // target.
        if self.text.correct.mode.corrects() || object.has_finalizer() {
            self.see(object, now);
        } else {
            self.drop_known(&uid);
            self.contend_unmanaged(&object, now);
        }
    }

    /// Takes in the present report of an object.
    pub(super) fn take_reported(&mut self, uid: &Uid, report: SeenReport, now: Now) {
        match self.objects.object(uid).cloned() {
            Some(known) if report.needs_live_read(&known) => self.effects.push(Effect::ReadAnew(Box::new(known))),
            Some(known) => self.see(known.with_report(report), now),
            None => {}
        }
    }

    pub(super) fn note_listed(&mut self) {
        self.objects.note_listed();
        self.memories.clear();
        self.program.note_listed();
        self.reconsider_all();
    }

    /// Ignores an object that left the selection meanwhile.
    pub(super) fn take_read_anew(&mut self, live: Option<Box<LeanObject>>, now: Now) {
        if let Some(live) = live.filter(|live| self.objects.object(&live.id.uid).is_some()) {
            self.see(*live, now);
        }
    }

    pub(super) fn see(&mut self, object: LeanObject, now: Now) {
        let known = self.objects.object(&object.id.uid);
        let Some(object) = object.newer_than(known) else { return };
        let facts = self.objects.facts_of(&self.text, &object);
        let memory = self.memories.remove(&object.id.uid);
        self.note_deletion(&object, now);
        let uid = object.id.uid.clone();
        if self.objects.see(object, facts, memory, now.moment) {
            self.objects.hold_verdict_ahead(&uid, now.wall, now.moment);
            if let Some(object) = self.objects.object(&uid) {
                self.deletions.see(object);
            }
            self.contend(&uid);
            self.queue.add(&uid);
        }
    }

    /// Registers an object of an observing target as a claimant, because it wants its external resource too.
    fn contend_unmanaged(&mut self, object: &LeanObject, now: Now) {
        let facts = ObjectFacts::of(&self.text, object);
        let memory = ObjectMemory::of(object, now.moment);
        let claimant = claimant_of(&TargetFacts::of(&self.text), object, &facts, &memory);
        let concerned = self.program.insert(&object.id.uid, claimant);
        self.add_all(&concerned);
    }

    /// Publishes the object's current claim to the other objects of all targets.
    pub(super) fn contend(&mut self, uid: &Uid) {
        if let Some(claimant) = self.objects.claimant(uid) {
            let concerned = self.program.insert(uid, claimant);
            self.add_all(&concerned);
        }
    }

    /// Skips an object that another target owns (the first by name wins). Two targets that both write
    /// would never settle.
    pub(super) fn skip(&mut self, object: Box<LeanObject>) {
        let uid = object.id.uid.clone();
        self.forget(&uid);
        if self.text.correct.mode.corrects() {
            self.hold(&uid, Some(Held::ClaimedTwice));
            self.report(Report::ClaimedTwice(object));
        }
    }

    pub(super) fn forget(&mut self, uid: &Uid) {
        self.drop_known(uid);
        let concerned = self.program.remove(uid);
        self.add_all(&concerned);
    }

    fn drop_known(&mut self, uid: &Uid) {
        self.hold(uid, None);
        self.queue.remove(uid);
        self.limited.leave(&self.objects.line(uid), uid);
        self.crowded.leave(uid);
        self.unproved.leave(uid);
        self.unreadable.remove(uid);
        self.deletions.forget(uid);
        self.reported_deletions.remove(uid);
        self.reported_causes.forget(uid);
        self.objects.forget(uid);
    }
}
