//! The external resources of one program's objects, as its targets share them.
//!
//! What the shell keeps behind a lock and tells by mailboxes is a value here, and whom a change concerns is asked for. Both
//! targets read alike, so they share one scope: it is complete once both have read their lists.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use drift_api::identity::{Claimant, IdentityIndex, ObjectRef, Ownership, Rights, Selected, Uid};
use drift_language::Target;

/// The resources of one program's objects. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Resources {
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    index: IdentityIndex,
    concerned: Vec<Selected>,
    /// What each target at work took in before its list was read; `None` once it is.
    told: BTreeMap<String, Option<HashSet<Uid>>>,
}

impl State {
    fn is_complete(&self) -> bool {
        self.told.values().all(Option::is_none)
    }
}

impl Resources {
    /// The target works by another text from now on, whose list is not read yet. What its former text told stays until then.
    pub(crate) fn join(&self, target: &Target) {
        let mut state = self.state.borrow_mut();
        state.told.insert(target.name.clone(), Some(HashSet::new()));
    }

    /// The target's list is read: its objects are those that it took in.
    pub(crate) fn note_listed(&self, target: &Target) {
        let mut state = self.state.borrow_mut();
        if let Some(kept) = state.told.insert(target.name.clone(), None).flatten() {
            let concerned = state.index.keep_only(&target.name.as_str().into(), &kept);
            state.concerned.extend(concerned);
        }
    }

    /// Returns true if everybody is known who may have claimed something.
    pub(crate) fn is_complete(&self) -> bool {
        self.state.borrow().is_complete()
    }

    /// Takes an object in as it is now; gives what it may do.
    pub(crate) fn insert(&self, target: &Target, uid: &Uid, claimant: Claimant) -> Rights {
        let mut state = self.state.borrow_mut();
        if let Some(Some(told)) = state.told.get_mut(&target.name) {
            told.insert(uid.clone());
        }
        let concerned = state.index.insert(&selected(target, uid), claimant.clone());
        state.concerned.extend(concerned);
        state.index.rights(uid, &claimant)
    }

    /// Drops an object.
    pub(crate) fn remove(&self, target: &Target, uid: &Uid) {
        let mut state = self.state.borrow_mut();
        if let Some(Some(told)) = state.told.get_mut(&target.name) {
            told.remove(uid);
        }
        let concerned = state.index.remove(&selected(target, uid));
        state.concerned.extend(concerned);
    }

    /// A correction of the object, as that claimant, begins or is at its end.
    pub(crate) fn hold(&self, uid: &Uid, claimant: Option<Claimant>) {
        let selected = Selected::correcting(uid);
        let mut state = self.state.borrow_mut();
        let concerned = match claimant {
            Some(claimant) => state.index.insert(&selected, claimant),
            None => state.index.remove(&selected),
        };
        state.concerned.extend(concerned);
    }

    /// Drops what a target saw that is no more.
    pub(crate) fn drop_target(&self, name: &str) {
        let mut state = self.state.borrow_mut();
        state.told.remove(name);
        let concerned = state.index.keep_only(&name.into(), &HashSet::new());
        state.concerned.extend(concerned);
    }

    /// What an object may do.
    pub(crate) fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        self.state.borrow().index.rights(uid, claimant)
    }

    /// Returns true if a target sees the object.
    pub(crate) fn sees(&self, object: &ObjectRef) -> bool {
        self.state.borrow().index.sees(object)
    }

    /// Takes an object in with the claim of what it wants, if it has that at this moment.
    pub(crate) fn claim(&self, target: &Target, uid: &Uid, claimant: Claimant) -> bool {
        let has = matches!(self.rights(uid, &claimant).ownership, Ownership::Free | Ownership::Held);
        if has {
            let owns = claimant.wants.clone();
            self.insert(target, uid, Claimant { owns, may_claim: false, ..claimant });
        }
        has
    }

    /// Which of the target's objects are among those whose rights may have changed.
    pub(crate) fn take_concerned_of(&self, target: &str) -> Vec<Uid> {
        let mut state = self.state.borrow_mut();
        state.concerned.extract_if(.., |it| &*it.target == target).map(|it| it.uid).collect()
    }

    /// Whose rights may have changed since this was asked last.
    pub(crate) fn take_concerned(&self) -> Vec<Selected> {
        std::mem::take(&mut self.state.borrow_mut().concerned)
    }
}

fn selected(target: &Target, uid: &Uid) -> Selected {
    Selected { target: target.name.as_str().into(), uid: uid.clone() }
}
