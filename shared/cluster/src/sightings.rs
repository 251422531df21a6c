//! Which targets select which object, over all targets of the program, and which object is being worked on.
//!
//! Two targets may turn out to select one object: the first by name owns it. A target may lose an object to another
//! or to none: only an object that no target selects is let go. And no two hands work on one object, not even those
//! of a target's former and present text. A value behind one lock; it must not know what is done to an object.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_model::identity::Uid;

/// What all targets together see. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Sightings {
    board: Arc<Mutex<Board>>,
}

#[derive(Debug, Default)]
struct Board {
    targets: HashMap<Uid, BTreeSet<Arc<str>>>,
    listed: BTreeSet<Arc<str>>,
    busy: HashSet<Uid>,
}

/// The object is worked on while this lives.
#[derive(Debug)]
#[must_use = "the object is free again when this is dropped"]
pub struct Busy {
    sightings: Sightings,
    uid: Uid,
}

impl Sightings {
    /// The target selects the object.
    pub fn see(&self, target: &Arc<str>, uid: &Uid) {
        let mut board = self.board();
        board.targets.entry(uid.clone()).or_default().insert(target.clone());
    }

    /// The target selects the object no more.
    pub fn lose(&self, target: &Arc<str>, uid: &Uid) {
        self.board().lose(target, uid);
    }

    /// The target's first full list is read.
    pub fn note_listed(&self, target: &Arc<str>) {
        self.board().listed.insert(target.clone());
    }

    /// The target's actor has ended; `uids` are all that it saw.
    pub fn retire<'a>(&self, target: &Arc<str>, uids: impl Iterator<Item = &'a Uid>) {
        let mut board = self.board();
        board.listed.remove(target);
        for uid in uids {
            board.lose(target, uid);
        }
    }

    /// Whether another target that is first by name selects the object.
    #[must_use]
    pub fn is_anothers(&self, target: &Arc<str>, uid: &Uid) -> bool {
        self.board().targets.get(uid).and_then(BTreeSet::first).is_some_and(|first| first < target)
    }

    /// Whether one of these targets selects the object.
    #[must_use]
    pub fn is_seen_by<'a>(&self, uid: &Uid, mut targets: impl Iterator<Item = &'a str>) -> bool {
        let board = self.board();
        board.targets.get(uid).is_some_and(|seen| targets.any(|target| seen.contains(target)))
    }

    /// Whether any target selects the object, as far as its watch has told.
    #[must_use]
    pub fn is_seen(&self, uid: &Uid) -> bool {
        self.board().targets.contains_key(uid)
    }

    /// Whether no target selects the object. Certain only if every target of `peers` (those of the same kind) has
    /// read its list; until then false.
    #[must_use]
    pub fn is_free<'a>(&self, uid: &Uid, mut peers: impl Iterator<Item = &'a str>) -> bool {
        let board = self.board();
        peers.all(|peer| board.listed.contains(peer)) && !board.targets.contains_key(uid)
    }

    /// Begins work on an object; `None` while somebody else is at it.
    #[must_use]
    pub fn begin(&self, uid: &Uid) -> Option<Busy> {
        let fresh = self.board().busy.insert(uid.clone());
        fresh.then(|| Busy { sightings: self.clone(), uid: uid.clone() })
    }

    /// A panic elsewhere leaves no half-written board: every change is one insertion or removal.
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board {
    fn lose(&mut self, target: &Arc<str>, uid: &Uid) {
        if let Some(targets) = self.targets.get_mut(uid) {
            targets.remove(target);
            if targets.is_empty() {
                self.targets.remove(uid);
            }
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.sightings.board().busy.remove(&self.uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_target_by_name_owns_an_object() {
        let sightings = Sightings::default();
        let (a, b, uid) = (Arc::from("a"), Arc::from("b"), Uid::from("u"));
        sightings.see(&b, &uid);
        assert!(!sightings.is_anothers(&b, &uid));
        sightings.see(&a, &uid);
        assert!(sightings.is_anothers(&b, &uid) && !sightings.is_anothers(&a, &uid));
        sightings.lose(&a, &uid);
        assert!(!sightings.is_anothers(&b, &uid));
    }

    #[test]
    fn an_object_is_free_only_when_every_peer_has_listed_and_none_selects_it() {
        let sightings = Sightings::default();
        let (a, uid) = (Arc::from("a"), Uid::from("u"));
        assert!(!sightings.is_free(&uid, ["a"].into_iter()));
        sightings.note_listed(&a);
        assert!(sightings.is_free(&uid, ["a"].into_iter()));
        sightings.see(&a, &uid);
        assert!(!sightings.is_free(&uid, ["a"].into_iter()));
        sightings.retire(&a, [&uid].into_iter());
        assert!(!sightings.is_free(&uid, ["a"].into_iter()) && sightings.is_free(&uid, std::iter::empty()));
    }

    #[test]
    fn no_two_hands_work_on_one_object() {
        let sightings = Sightings::default();
        let uid = Uid::from("u");
        let busy = sightings.begin(&uid);
        assert!(busy.is_some() && sightings.begin(&uid).is_none());
        drop(busy);
        assert!(sightings.begin(&uid).is_some());
    }
}
