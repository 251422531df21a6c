//! What the watch says of the target's objects.
//!
//! What is left on an object that leaves the selection is none of its business.

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_kube::identities::Wake;
use drift_kube::process::clock;
use drift_kube::subscriptions::ObjectEvent;
use drift_language::Mode;

use super::{Report, TargetActor};
use crate::core::facts::{ObjectFacts, TargetFacts};
use crate::core::held::Held;
use crate::core::memory::ObjectMemory;
use crate::core::roster::claimant_of;

impl TargetActor {
    pub(super) fn take_event(&mut self, event: ObjectEvent) {
        let now = clock::now();
        match event {
            ObjectEvent::Seen(object) => {
                let uid = object.id.uid.clone();
                let known = self.roster.object(&uid).filter(|known| object.is_listed_before(known));
                if let Some(known) = known.cloned() {
                    return self.read_anew(known);
                }
                // A target that only looks has nothing to do but to let go what an earlier text of it held.
                if self.executor.target.correct.mode == Mode::Correct || object.has_finalizer() {
                    self.see(*object, now);
                } else {
                    self.drop_known(&uid);
                    self.contend_unmanaged(&object, now);
                }
            }
            ObjectEvent::Left(uid) => self.forget(&uid),
            ObjectEvent::Skipped(object) => self.skip(&object),
            ObjectEvent::Listed => {
                self.roster.note_listed();
                self.memories.clear();
                self.identities.note_listed();
                self.reconsider_all();
            }
            ObjectEvent::Alive { .. } => {}
        }
    }

    /// A list shows the object older than it is known: only a live read tells which of both holds.
    fn read_anew(&self, known: LeanObject) {
        let writer = self.executor.writer.clone();
        self.spawn(async move { Report::ReadAnew(writer.read_anew(&known).await.map(Box::new)) });
    }

    pub(super) fn see(&mut self, object: LeanObject, now: Moment) {
        let facts = ObjectFacts::of(&self.executor.target, &object);
        let memory = self.memories.remove(&object.id.uid);
        self.note_deletion(&object);
        let uid = object.id.uid.clone();
        if self.roster.see(object, facts, memory, now) {
            self.roster.hold_verdict_ahead(&uid, clock::wall_since_epoch(), now);
            if let Some(object) = self.roster.object(&uid) {
                self.deletions.see(object);
            }
            self.contend(&uid);
            self.queue.add(&uid);
        }
    }

    /// An object of a target that only looks wants its external resource too.
    fn contend_unmanaged(&mut self, object: &LeanObject, now: Moment) {
        let target = &self.executor.target;
        let facts = ObjectFacts::of(target, object);
        let claimant = claimant_of(&TargetFacts::of(target), object, &facts, &ObjectMemory::of(object, now));
        let concerned = self.identities.insert(&object.id.uid, claimant);
        self.add_all(&concerned);
    }

    /// Shows the other objects, of all targets, what this one says of external resources now.
    pub(super) fn contend(&mut self, uid: &Uid) {
        if let Some(claimant) = self.roster.claimant(uid) {
            let concerned = self.identities.insert(uid, claimant);
            self.add_all(&concerned);
        }
    }

    pub(super) fn take_wake(&mut self, wake: Wake) {
        match wake {
            Wake::Object(uid) => self.queue.add(&uid),
            Wake::Scopes => {
                let waiting: Vec<_> = self.held_counts.held_for(Held::ScopeIncomplete).cloned().collect();
                self.add_all(&waiting);
            }
        }
    }

    /// Another target, first by name, has the object; two that each write would never come to rest.
    fn skip(&mut self, object: &LeanObject) {
        let uid = &object.id.uid;
        self.forget(uid);
        if self.executor.target.correct.mode == Mode::Correct {
            self.held_counts.set(uid, Some(Held::ClaimedTwice));
            self.executor.announcer.claimed_twice(&self.executor.writer.kind, object);
        }
    }

    pub(super) fn forget(&mut self, uid: &Uid) {
        self.drop_known(uid);
        let concerned = self.identities.remove(uid);
        self.add_all(&concerned);
    }

    fn drop_known(&mut self, uid: &Uid) {
        self.held_counts.set(uid, None);
        self.queue.remove(uid);
        self.limited.leave(&self.roster.line(uid), uid);
        self.crowded.leave(uid);
        self.unreadable.remove(uid);
        self.deletions.forget(uid);
        self.told_deletions.remove(uid);
        self.executor.told_causes.forget(uid);
        self.roster.forget(uid);
    }
}
