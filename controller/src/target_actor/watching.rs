//! What the watch says, and objects that are out of the selection.
//!
//! An object that leaves may carry our finalizer still; it is let go once it is certain that no target selects it.

use drift_cluster::cleanup::{KindName, is_in_doubt};
use drift_cluster::identities::Wake;
use drift_cluster::process::clock;
use drift_cluster::watch::ObjectEvent;
use drift_model::identity::Uid;
use drift_model::moment::Moment;
use drift_model::object::LeanObject;
use drift_target::Mode;

use super::{Report, TargetActor};
use crate::core::facts::{ObjectFacts, TargetFacts};
use crate::core::held::Held;
use crate::core::memory::ObjectMemory;
use crate::core::roster::claimant_of;
use crate::target_work::is_same_kind;

impl TargetActor {
    pub(super) fn take_event(&mut self, event: ObjectEvent) {
        let now = clock::now();
        match event {
            ObjectEvent::Seen(object) => {
                let uid = object.id.uid.clone();
                self.strays.remove(&uid);
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
            ObjectEvent::Left { id, object } => {
                // Whatever it carries now: a write that is under way may land on it still.
                if object.is_some() {
                    self.shared.leavers.tell(KindName::of(&self.executor.target.objects), id.clone());
                }
                self.forget(&id.uid);
                self.strays.remove(&id.uid);
                if let Some(object) = object.filter(|object| object.has_finalizer()) {
                    self.strays.add(object.id);
                }
            }
            ObjectEvent::Skipped(object) => self.skip(&object),
            ObjectEvent::Stray(object) => self.strays.add(object.id),
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
                let waiting: Vec<_> = self.tally.held_for(Held::ScopeIncomplete).cloned().collect();
                self.add_all(&waiting);
            }
        }
    }

    /// Another target, first by name, has the object; two that each write would never come to rest.
    fn skip(&mut self, object: &LeanObject) {
        let uid = &object.id.uid;
        self.forget(uid);
        self.strays.remove(uid);
        if self.executor.target.correct.mode == Mode::Correct {
            self.tally.set(uid, Some(Held::ClaimedTwice));
            self.executor.announcer.claimed_twice(&self.executor.writer.kind, object);
        }
    }

    pub(super) fn forget(&mut self, uid: &Uid) {
        self.drop_known(uid);
        let concerned = self.identities.remove(uid);
        self.add_all(&concerned);
    }

    fn drop_known(&mut self, uid: &Uid) {
        self.tally.set(uid, None);
        self.queue.remove(uid);
        self.limited.leave(uid);
        self.crowded.leave(uid);
        self.unreadable.remove(uid);
        self.told_deletions.remove(uid);
        self.roster.forget(uid);
    }

    /// Takes the finalizer off objects that no target selects any more.
    pub(super) fn let_strays_go(&mut self) {
        let ripe = self.strays.age();
        if ripe.is_empty() || !self.executor.requests.may_begin() {
            return;
        }
        let configuration = self.shared.configuration.borrow().clone();
        let ours = &self.executor.target.objects;
        let peers: Vec<&str> = configuration
            .targets
            .values()
            .filter(|peer| is_same_kind(&peer.objects, ours))
            .map(|peer| peer.name.as_str())
            .collect();
        for id in ripe {
            let uid = id.uid.clone();
            // It may be of a target whose document is bad or whose ConfigMap is missing.
            let in_doubt = self.shared.notes.read(|notes| {
                is_in_doubt(notes, configuration.in_force(), &KindName::of(ours), id.namespace.as_deref())
            });
            if in_doubt || !self.shared.watches.is_free(&uid, peers.iter().copied()) {
                continue;
            }
            let Some(busy) = self.shared.under_way.begin(&uid) else { continue };
            let executor = self.executor.clone();
            self.spawn(async move {
                let done = executor.releaser().let_go(&id).await;
                drop(busy);
                Report::StrayDone { uid, done }
            });
        }
    }
}
